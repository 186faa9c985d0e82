"""Batches of an evaluation between those of the training, and rows of tables, below the lines of epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


def test_batches_with_another_total_behind_the_end_of_an_epoch_are_of_an_evaluation(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"epoch: {n}, {batch}/1875, acc: 0.{n}, loss: 2.{n}\n" for batch in range(0, 1875, 300))
        + "".join(f"epoch: {n}, {batch}/313, acc: 0.{n}, loss: 1.{n}\n" for batch in range(0, 313, 100))
        for n in range(8)
    )
    run = read_log(tmp_path, text)
    steps = steps_of(run)
    assert run.attempts == 1
    assert len(steps["loss"]) == 8 * 7
    assert len(steps["eval/loss"]) == 8
    assert {key.metric: series.value[-1] for key, series in run.data.series.items()}["loss"] == 2.7


@pytest.mark.parametrize("heading", ["--- validate (epoch={0})---", "Validate:", "10:00:00 - Validating ..."])
def test_batches_below_the_heading_of_a_validation(tmp_path: Path, heading: str) -> None:
    text = "".join(
        "".join(f"Epoch: [{n}][ {batch}/ 500]  Overall Loss 1.{n}  LR 0.01\n" for batch in (250, 500))
        + f"{heading.format(n)}\nEpoch: [{n}][ 100/ 100]  Loss 0.{n}  Top1 52.4\n"
        + f"==> Top1: 52.4  Loss: 0.{n}\n"
        for n in range(6)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["Overall Loss"] == [*range(250, 3001, 250)]
    [name] = {name for name in steps_of(run) if name.endswith("/Loss")}
    assert name.startswith("valid")
    assert steps_of(run)[name] == [*range(500, 3001, 500)]


def test_rows_of_a_table_below_each_epoch_go_on_through_the_epochs(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/9 Running...\n\nStep  Action    Reward\n-----------------------\n"
        + "".join(f"{step}     Up        {step}.00\n" for step in range(1, 3 + n))
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"Reward": [*range(1, 13)]}
