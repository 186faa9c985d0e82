"""JSON whose rows count within epochs, or of which some state their epoch alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3)
COUNTS = (10, 20, 30)
"""What the rows of an epoch count."""


def _lines(rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def _training(step: str, *, through: bool) -> list[list[dict[str, Any]]]:
    """The rows of each epoch; `through`: they count on through all epochs."""
    return [
        [{"epoch": epoch, step: at + 30 * (epoch - 1) * through, "loss": 3.5 - epoch} for at in COUNTS]
        for epoch in EPOCHS
    ]


@pytest.mark.parametrize(
    ("step", "through"), [("batch", False), ("step", False), ("step", True), ("global_step", True)]
)
def test_rows_of_an_epoch_are_at_the_last_of_its_steps(
    tmp_path: Path, reading: Any, step: str, through: bool
) -> None:
    rows = [
        row
        for epoch, training in enumerate(_training(step, through=through), 1)
        for row in (*training, {"epoch": epoch, "loss": 2.5 - epoch / 8, "val_loss": epoch / 4})
    ]
    lines = _lines(rows)
    run = read_log(tmp_path, content := b"".join(lines), "log.jsonl")
    assert run.attempts == 1
    assert steps_of(run) == {
        "epoch": (all_steps := [*range(10, 91, 10)]),
        "loss": all_steps,
        "epoch/loss": [30, 60, 90],
        "val_loss": [30, 60, 90],
    }
    complete = reading.read_complete("log.jsonl", content)
    assert reading.read_growing("log.jsonl", content, [*accumulate(map(len, lines))]) == complete
    assert reading.read_restarted("log.jsonl", content, every=1) == complete


def test_rows_of_an_epoch_are_at_the_last_step_that_names_none(tmp_path: Path) -> None:
    rows = [
        {"step": at + 30 * (epoch - 1), "loss": 0.5} if at else {"epoch": epoch, "val_acc": epoch / 8}
        for epoch in EPOCHS
        for at in (*COUNTS, 0)
    ]
    run = read_log(tmp_path, b"".join(_lines(rows)), "log.jsonl")
    assert steps_of(run) == {"loss": [*range(10, 91, 10)], "val_acc": [30, 60, 90]}
    assert run.attempts == 1


@pytest.mark.parametrize("first", [0, 1], ids=["counts from 0", "counts from 1"])
def test_an_evaluation_whose_step_is_the_epoch_is_at_the_last_step(tmp_path: Path, first: int) -> None:
    rows = [
        row
        for epoch, training in enumerate(_training("step", through=True), 1)
        for row in (
            *({**row, "epoch": row["epoch"] - 1 + first, "time": 0.5} for row in training),
            {"accuracy/top1": epoch / 8, "time": 0.25, "step": epoch},
        )
    ]
    run = read_log(tmp_path, b"".join(_lines(rows)), "scalars.json")
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["val/accuracy/top1"] == steps["val/time"] == [30, 60, 90]
    assert steps["loss"] == steps["time"] == [*range(10, 91, 10)]


def test_more_values_of_the_last_step_begin_no_step_anew(tmp_path: Path) -> None:
    rows = [
        row
        for epoch, training in enumerate(_training("step", through=True), 1)
        for row in (*training, {"epoch": epoch + 1, "step": 30 * epoch, "val_loss": 0.5})
    ]
    run = read_log(tmp_path, b"".join(_lines(rows)), "log.jsonl")
    assert steps_of(run)["loss"] == [*range(10, 91, 10)]
    assert steps_of(run)["val_loss"] == [30, 60, 90]


def test_steps_that_start_over_without_their_epoch_are_those_of_another_launch(tmp_path: Path) -> None:
    rows = [row for training in _training("step", through=False)[:2] for row in training]
    run = read_log(tmp_path, b"".join(_lines([*rows, *rows])), "log.jsonl")
    assert run.attempts == 2
    assert steps_of(run)["loss"] == 2 * [*range(10, 61, 10)]


def test_lists_of_rows_count_within_epochs_as_lines_do(tmp_path: Path) -> None:
    rows = [row for training in _training("batch", through=False) for row in training]
    run = read_log(tmp_path, json.dumps(rows, indent=1), "history.json")
    assert steps_of(run)["loss"] == [*range(10, 91, 10)]
    assert run.attempts == 1


def test_an_epoch_that_comes_again_in_a_list_begins_a_launch(tmp_path: Path) -> None:
    rows = [{"epoch": epoch, "loss": epoch / 8, "seconds": 12.5} for epoch in (0, 1, 2, 2, 3, 4)]
    run = read_log(tmp_path, json.dumps(rows, indent=1), "history.json")
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [0, 1, 2, 2, 3, 4]


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
@pytest.mark.parametrize(
    ("amount", "step"), [("episodes", "update"), ("epochs", "round"), ("iterations", "train_step")]
)
def test_what_is_done_in_each_round_is_no_step(tmp_path: Path, name: str, amount: str, step: str) -> None:
    rows = [{amount: 8, step: number, "loss": number / 8} for number in EPOCHS]
    table = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    text = b"".join(_lines(rows)) if name.endswith("l") else "\n".join([*table, ""])
    run = read_log(tmp_path, text, name)
    assert steps_of(run) == {amount: [*EPOCHS], "loss": [*EPOCHS]}


@pytest.mark.parametrize("step", ["step", "global_step"])
def test_an_epoch_may_end_between_the_objects_of_one_step(tmp_path: Path, step: str) -> None:
    rows = [{"epoch": n // 10 + 1, step: n // 4, "loss": 1 / n} for n in range(1, 40)]
    run = read_log(tmp_path, b"".join(_lines(rows)), "log.jsonl")
    assert run.attempts == 1
    assert {*steps_of(run)["loss"]} == {*range(10)}


def test_evaluations_that_name_a_global_step_are_at_it(tmp_path: Path) -> None:
    rows = [{"epoch": n, "global_step": 30 * (n // 2), "split": "val", "loss": 1 / n} for n in range(2, 8)]
    assert {*steps_of(read_log(tmp_path, b"".join(_lines(rows)), "log.jsonl"))["val/loss"]} == {30, 60, 90}
