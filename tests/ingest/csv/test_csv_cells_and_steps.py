"""Cells and rows of CSV as programs write them: what counts with its total, rows that end with a comma."""

from __future__ import annotations

import io
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.thousands import without_thousands
from holter.ingest.step_columns import find_step
from holter.types import SeriesKey
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
    "step",
    [
        *("time/total_timesteps", "training_iteration", "timesteps_total", "round", "n_updates", "Itr"),
        "total/steps",
        "Global Step",
    ],
)
def test_steps_of_reinforcement_and_federated_learning_are_found(step: str, tmp_path: Path) -> None:
    text = f"ep_rew_mean,{step},train/loss\n" + "".join(f"1.5,{8 * epoch},0.{epoch}\n" for epoch in EPOCHS)
    assert steps_of(read_log(tmp_path, text, "progress.csv"))["train/loss"] == [8, 16, 24, 32]


def test_rounds_are_no_steps_of_a_table_without_a_metric() -> None:
    assert find_step(["round", "team", "points"]) is None


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1200.5 img/s", "1300 img/s", "950 img/s"], [1200.5, 1300, 950]),
        (["12ms", "9.5ms", "8ms"], [12, 9.5, 8]),
        (["65536", '"131,072"', '"1,196,608"'], [65536, 131072, 1196608]),
        (["4.5 GB", "4.75 GB", "5 GB"], [4.5e9, 4.75e9, 5e9]),
        (["3dunet", "2dunet", "unet"], []),
    ],
    ids=["units", "units without a space", "thousands", "bytes", "names"],
)
def test_numbers_in_cells_may_have_units_and_thousands(
    tmp_path: Path, cells: list[str], values: list[float]
) -> None:
    text = "step,loss,other\n" + "".join(f"{n},0.5,{cell}\n" for n, cell in enumerate(cells))
    series = {key.metric: each for key, each in read_log(tmp_path, text, "log.csv").data.series.items()}
    assert (series["other"].value.tolist() if values else series.keys()) == (values or {"loss"})


def test_steps_may_have_thousands_and_a_line_with_points_has_no_decimal_commas(tmp_path: Path) -> None:
    quoted = "step,loss\n" + "".join(f'"{n},000",0.5\n' for n in range(1, 4))
    assert steps_of(read_log(tmp_path, quoted, "log.csv")) == {"loss": [1000, 2000, 3000]}
    text = "step;tokens;loss\n1;65,536;0.5\n2;131,072;0.25\n"
    series = read_log(tmp_path, text, "log.csv").data.series
    assert series[SeriesKey("tokens")].value.tolist() == [65536, 131072]


def test_positions_behind_commas_of_thousands_are_those_of_the_file() -> None:
    text = b"step;tokens;loss\n1;65,536;0.5\n2;131,072;0.25\n3;1,196,608;0.125\n"
    shortened = without_thousands(io.BytesIO(text))
    left = shortened.stream.read()
    assert left == text.replace(b",", b"")
    assert bytes(text[shortened.byte_of_file(position)] for position in range(len(left))) == left
    assert shortened.location_in_file(f"byte {left.index(b'3;1196')}") == f"byte {text.index(b'3;1,196')}"
    assert shortened.location_in_file("line 4") == "line 4"


def test_rows_of_an_epoch_without_a_step_are_at_the_last_one(tmp_path: Path, reading: Any) -> None:
    rows = [
        line
        for epoch in range(3)
        for line in (*(f"{epoch},{30 * epoch + at},0.5,\n" for at in (10, 20, 30)), f"{epoch},,,0.25\n")
    ]
    lines = ["epoch,step,train_loss,val_loss\n", *rows]
    run = read_log(tmp_path, content := "".join(lines), "metrics.csv")
    assert steps_of(run)["val_loss"] == [30, 60, 90]
    assert steps_of(run)["train_loss"] == [*range(10, 91, 10)]
    complete = reading.read_complete("metrics.csv", content.encode())
    assert reading.read_growing("metrics.csv", content.encode(), [*accumulate(map(len, lines))]) == complete
    assert reading.read_restarted("metrics.csv", content.encode(), every=1) == complete
