"""Cells and rows of CSV as programs write them: what counts with its total, rows that end with a comma."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.step_columns import find_step
from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3, 4)


def rows_of(form: str) -> str:
    return "".join(f"{form.format(epoch=epoch, loss=epoch / 8)}\n" for epoch in EPOCHS)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("epoch,loss,", "{epoch},{loss}"),
        ("epoch,loss,", "{epoch},{loss},"),
        ("epoch,loss", "{epoch},{loss},"),
        ("epoch;loss", "{epoch};{loss};;"),
        ("epoch,loss", "{epoch}/4,{loss}"),
        ("epoch,loss", "Epoch {epoch},{loss}"),
        ("epoch,loss", "[{epoch}/4],{loss}"),
        ("epoch,loss", "{epoch},tensor({loss})"),
        ("epoch,loss", "{epoch},tensor({loss}, device='cuda:0', grad_fn=<NllLossBackward0>)"),
        ("epoch,loss", "{epoch},\"tensor({loss}, device='cuda:0')\""),
        ("epoch,loss,time", "{epoch},{loss},00:0{epoch}"),
    ],
)
def test_each_row_has_its_epoch_and_its_loss(header: str, row: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, f"{header}\n{rows_of(row)}", "history.csv")
    assert steps_of(run) == {"loss": [1, 2, 3, 4]}
    [points] = run.data.series.values()
    assert points.value.tolist() == [0.125, 0.25, 0.375, 0.5]


def test_rows_at_parts_of_epochs_are_numbered(tmp_path: Path) -> None:
    text = "epoch,loss\n" + "".join(f"{number / 4},{number / 8}\n" for number in range(1, 9))
    run = read_log(tmp_path, text, "log.csv")
    assert steps_of(run) == {"epoch": [*range(1, 9)], "loss": [*range(1, 9)]}
    assert not run.unreadable


@pytest.mark.parametrize(
    "step", ["time/total_timesteps", "training_iteration", "timesteps_total", "round", "n_updates", "Itr"]
)
def test_steps_of_reinforcement_and_federated_learning_are_found(step: str, tmp_path: Path) -> None:
    text = f"ep_rew_mean,{step},train/loss\n" + "".join(f"1.5,{8 * epoch},0.{epoch}\n" for epoch in EPOCHS)
    assert steps_of(read_log(tmp_path, text, "progress.csv"))["train/loss"] == [8, 16, 24, 32]


def test_rounds_are_no_steps_of_a_table_without_a_metric() -> None:
    assert find_step(["round", "team", "points"]) is None
