"""Rows of CSV and JSON Lines that say of which training they are, or have the step of the row above."""

from __future__ import annotations

import io
import json
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.jsonl import JsonLines
from tests.support.log_runs import read_log

EPOCHS = (1, 2, 3, 4)
FORMS = ("csv", "jsonl")

form = pytest.mark.parametrize("form", FORMS)


def written(form: str, rows: list[dict[str, Any]]) -> str:
    if form == "jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in rows)
    lines = [",".join(map(str, row.values())) for row in rows]
    return "\n".join((",".join(rows[0]), *lines, ""))


def values_of(form: str, rows: list[dict[str, Any]], tmp_path: Path) -> dict[str, list[float]]:
    run = read_log(tmp_path, written(form, rows), f"log.{form}")
    assert run.attempts == 1
    return {str(key): points.value.tolist() for key, points in run.data.series.items()}


@form
@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("column", ["seed", "Fold", "run_id", "Client", "random_seed", "trial"])
def test_trainings_with_a_number_are_series_of_their_own(
    form: str, column: str, in_turn: bool, tmp_path: Path
) -> None:
    order = [(number, epoch) for number in (7, 8) for epoch in EPOCHS]
    if in_turn:
        order.sort(key=lambda pair: pair[1])
    rows = [{column: number, "epoch": epoch, "loss": number / epoch} for number, epoch in order]
    word = column.lower().replace("_id", "").replace("random_", "")
    assert values_of(form, rows, tmp_path) == {
        "loss": [7.0, 3.5, 7 / 3, 1.75],
        f"loss{{{word}=8}}": [8.0, 4.0, 8 / 3, 2.0],
    }


@form
def test_several_names_that_differ_from_those_of_the_first_training_are_labels(
    form: str, tmp_path: Path
) -> None:
    trainings = [("vgg", 1), ("vgg", 2), ("resnet", 1), ("resnet", 2)]
    rows = [
        {"Model": model, "seed": seed, "epoch": epoch, "acc": number + epoch / 8}
        for number, (model, seed) in enumerate(trainings)
        for epoch in EPOCHS
    ]
    assert {*values_of(form, rows, tmp_path)} == {
        "acc",
        "acc{seed=2}",
        "acc{model=resnet}",
        "acc{model=resnet,seed=2}",
    }


@form
@pytest.mark.parametrize("names", [("warmup", "finetune"), (1, 2)])
def test_phases_through_which_the_steps_go_on_are_one_training(
    form: str, names: tuple[Any, Any], tmp_path: Path
) -> None:
    rows = [{"epoch": epoch, "phase": names[epoch > 2], "loss": 1 / epoch} for epoch in EPOCHS]
    assert values_of(form, rows, tmp_path)["loss"] == [1.0, 0.5, 1 / 3, 0.25]


@form
def test_rows_of_an_evaluation_are_named_after_their_data(form: str, tmp_path: Path) -> None:
    rows = [
        {"epoch": epoch, "split": split, "loss": len(split) / epoch}
        for epoch in EPOCHS
        for split in ("train", "val")
    ]
    assert values_of(form, rows, tmp_path) == {
        "loss": [5.0, 2.5, 5 / 3, 1.25],
        "val/loss": [3.0, 1.5, 1.0, 0.75],
    }


@form
def test_no_value_is_hidden_by_another_one_of_its_step(form: str, tmp_path: Path) -> None:
    rows = [{"step": epoch, "loss": number / epoch} for epoch in EPOCHS for number in (1, 2, 3)]
    assert values_of(form, rows, tmp_path) == {
        "loss": [1.0, 0.5, 1 / 3, 0.25],
        "loss{repeat=2}": [2.0, 1.0, 2 / 3, 0.5],
        "loss{repeat=3}": [3.0, 1.5, 1.0, 0.75],
    }


@form
def test_a_row_that_is_logged_twice_is_one(form: str, tmp_path: Path) -> None:
    rows = [{"step": epoch, "loss": 1 / epoch} for epoch in EPOCHS for _ in range(2)]
    assert values_of(form, rows, tmp_path) == {"loss": [1.0, 0.5, 1 / 3, 0.25]}


@form
def test_many_rows_of_an_epoch_are_those_of_its_batches(form: str, tmp_path: Path) -> None:
    rows = [{"epoch": epoch, "loss": epoch + batch / 16} for epoch in EPOCHS for batch in range(12)]
    values = values_of(form, rows, tmp_path)
    assert {*values} == {"epoch", "loss"}
    assert values["loss"] == [row["loss"] for row in rows]


@pytest.mark.parametrize("line", ["{}   {}   {}", "| {} | {} | {} |", "{}\t{}\t{}"])
@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize(("column", "names"), [("Fold", (1, 2)), ("Model", ("vgg", "resnet"))])
def test_so_are_trainings_in_printed_tables(
    line: str, in_turn: bool, column: str, names: tuple[Any, Any], tmp_path: Path
) -> None:
    order = [(number, epoch) for number in (0, 1) for epoch in EPOCHS]
    if in_turn:
        order.sort(key=lambda pair: pair[1])
    rows = [line.format(names[number], epoch, number + epoch / 8) for number, epoch in order]
    run = read_log(tmp_path, "\n".join((line.format(column, "Epoch", "Loss"), *rows, "")))
    assert run.attempts == 1
    assert {str(key): points.value.tolist() for key, points in run.data.series.items()} == {
        "Loss": [0.125, 0.25, 0.375, 0.5],
        f"Loss{{{column.lower()}={names[1]}}}": [1.125, 1.25, 1.375, 1.5],
    }


def test_columns_of_which_each_row_has_one_repeat_nothing(tmp_path: Path) -> None:
    text = "step,train_loss,val_loss\n" + "".join(f"{step},{step}.5,\n{step},,{step}.25\n" for step in EPOCHS)
    run = read_log(tmp_path, text, "metrics.csv")
    assert {str(key) for key in run.data.series} == {"train_loss", "val_loss"}


@form
@pytest.mark.parametrize("size", [1, 7, 40])
def test_it_is_the_same_however_the_rows_arrive(form: str, size: int) -> None:
    rows = [
        {"seed": seed, "step": step, "loss": seed + number / step}
        for step in EPOCHS
        for seed in (1, 2)
        for number in (1, 2)
    ]
    text = written(form, rows).encode()
    assert read_in_pieces(form, text, size) == read_in_pieces(form, text, len(text))


def read_in_pieces(form: str, text: bytes, size: int) -> dict[str, list[tuple[int, float]]]:
    """The points of a log of which so many bytes arrive at a time, each read by another reader."""
    log = CsvLog() if form == "csv" else JsonLines()
    state: dict[str, Any] = {}
    position = 0
    found: dict[str, list[tuple[int, float]]] = {}
    for end in [*range(size, len(text), size), len(text)]:
        stream = io.BytesIO(text[:end])
        stream.seek(position)
        reader = log.reader(PurePath(f"log.{form}"), json.loads(json.dumps(state)))
        for batch in reader.read(stream):
            for column in getattr(batch, "columns", ()):
                steps = batch.steps if column.rows is None else batch.steps[column.rows]  # type: ignore[union-attr]
                pairs = zip(steps.tolist(), column.values.tolist(), strict=True)
                found.setdefault(str(column.key), []).extend(pairs)
        state, position = dict(reader.state()), stream.tell()
    return found
