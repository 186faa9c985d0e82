"""Tables whose rows of one step are told apart by a column of texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3)


@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.txt"])
def test_rows_of_a_step_have_their_texts_as_labels(name: str, tmp_path: Path) -> None:
    rows = "".join(f"{n},{layer},0.{n}5\n" for n in EPOCHS for layer in ("stem", "neck", "head"))
    expected = {"loss": [*EPOCHS], "loss/layer=neck": [*EPOCHS], "loss/layer=head": [*EPOCHS]}
    assert steps_of(read_log(tmp_path, "epoch,Layer,loss\n" + rows, name)) == expected


def test_rows_of_many_classes_of_an_epoch_are_at_the_epoch(tmp_path: Path) -> None:
    classes = [f"kind {number}" for number in range(60)]
    rows = "".join(f"{n},{each},0.{n}5\n" for n in EPOCHS for each in classes)
    steps = steps_of(read_log(tmp_path, "epoch,class,recall\n" + rows, "log.csv"))
    assert steps == {"recall" + f"/class={each}" * (each != classes[0]): [*EPOCHS] for each in classes}


def test_texts_tell_rows_apart_next_to_the_data_of_each(tmp_path: Path) -> None:
    rows = "".join(
        f"{n},{data},{block},0.{n}5\n" for n in EPOCHS for data in ("train", "val") for block in ("a", "b")
    )
    assert {*steps_of(read_log(tmp_path, "epoch,phase,block,loss\n" + rows, "log.csv"))} == {
        *("loss", "loss/block=b", "val/loss", "val/loss/block=b"),
    }


def test_remarks_and_days_tell_no_rows_apart(tmp_path: Path) -> None:
    remarks = "".join(f"{n},0.{n}{k},saved\n" for n in EPOCHS for k in (5, 7))
    run = read_log(tmp_path, "epoch,loss,note\n" + remarks, "log.csv")
    assert {*steps_of(run)} == {"loss", "loss/repeat=2"}
    days = "".join(f"{n},0.{n}5,2026-04-0{day}\n" for day in (1, 2) for n in range(9))
    run = read_log(tmp_path, "epoch,loss,day\n" + days, "log.csv")
    assert (run.attempts, {*steps_of(run)}) == (2, {"loss"})


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("log.jsonl", lambda n, unit: json.dumps({"epoch": n, "unit": unit, "loss": n / 8}) + "\n"),
        ("log.txt", lambda n, unit: f"{n:<5}  {unit:<8} {n / 8:.3f}\n"),
        ("train.log", lambda n, unit: f"| {n} | {unit} | {n / 8:.3f} |\n"),
    ],
)
def test_printed_tables_and_json_lines_have_texts_as_labels(
    tmp_path: Path, name: str, row: Callable[[int, str], str]
) -> None:
    units = [f"u{number}.w" for number in range(40)]
    header = {
        "log.jsonl": "",
        "log.txt": "epoch  unit     loss\n",
        "train.log": "| epoch | unit | loss |\n|---|---|---|\n",
    }
    text = header[name] + "".join(row(n, unit) for n in EPOCHS for unit in units)
    steps = steps_of(read_log(tmp_path, text, name))
    assert steps == {"loss" + f"/unit={unit}" * (unit != units[0]): [*EPOCHS] for unit in units}


def test_objects_with_remarks_are_no_rows_of_texts(tmp_path: Path) -> None:
    rows = ({"step": n, "loss": n / k, "note": "saved"} for n in EPOCHS for k in (5, 7))
    run = read_log(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "log.jsonl")
    assert {*steps_of(run)} == {"loss", "loss/repeat=2"}


def test_bars_are_no_table_of_texts(tmp_path: Path) -> None:
    bars = "".join(f"\rEpoch 1:  {n}0%|#| {n}/9 [00:0{n}<00:01, loss=0.{n}]" for n in range(1, 10))
    assert steps_of(read_log(tmp_path, bars + "\n"))["loss"][-1] == 9
