"""CSV files that W&B's page exports: runs are separated by name, and sampled series are reported."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.detectors.launch_checks import run_launch_checks
from holter.ingest import formats
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.offline.tracker_runs import read_tracker_runs, row_batches
from holter.ingest.trackers import find_collection
from holter.ingest.trackers.base import CollectionError, RunContents
from holter.ingest.wandb.chart_csv import parse_header
from holter.types import ConfigKey, SeriesKey

ONE = '"Step","eager-sun-1 - loss","eager-sun-1 - loss__MIN","eager-sun-1 - loss__MAX"\n'
TWO = (
    '"Step","a - b - train/loss","a - b - train/loss__MIN","a - b - train/loss__MAX",'
    '"c - train/loss","c - train/loss__MIN","c - train/loss__MAX"\n'
    '"0","3.5","3.5","3.5","","",""\n"10","2.5","2.25","2.75","4.5","4.5","4.5"\n"20","NaN","NaN","NaN","","",""\n'
)


def columns(axis: str, *curves: str) -> str:
    """A header with three columns for each curve."""
    names = [axis, *(curve + ending for curve in curves for ending in ("", "__MIN", "__MAX"))]
    return ",".join(f'"{name}"' for name in names) + "\n"


def runs(path: Path, text: str) -> dict[str, RunContents]:
    file = path / "wandb_export_2026-01-31T12_00_00.000+01_00.csv"
    file.write_text(text)
    collection = find_collection(file)
    assert collection is not None
    assert collection.name == "wandb-csv"
    return {run.name: run.read() for run in collection.runs(file)}


def points(contents: RunContents, metric: str, **labels: str) -> list[tuple[int, str]]:
    (result,) = [item for item in contents.logged if item.key == SeriesKey(metric, tuple(labels.items()))]
    return list(zip(result.steps.tolist(), map(repr, result.values.tolist()), strict=True))


def test_wandb_export_runs_are_separated_for_any_name(tmp_path: Path) -> None:
    result = runs(tmp_path, TWO)
    assert list(result) == ["a - b", "c"]
    assert points(result["a - b"], "train/loss") == [(0, "3.5"), (10, "2.5"), (20, "nan")]
    assert points(result["c"], "train/loss") == [(10, "4.5")]


def test_sampled_wandb_export_is_reported_with_bounds(tmp_path: Path) -> None:
    result = runs(tmp_path, TWO)
    assert points(result["a - b"], "train/loss", bucket="max")[1] == (10, "2.75")
    assert [item.reason.partition(" by")[0] for item in result["a - b"].left_out] == ["sampled"]
    assert result["a - b"].config[ConfigKey("wandb.sampled")] is True


def test_bounds_equal_to_the_value_are_left_out(tmp_path: Path) -> None:
    result = runs(tmp_path, ONE + '"1","2.5","2.5","2.5"\n"2","inf","inf","inf"\n')["eager-sun-1"]
    assert [str(item.key) for item in result.logged] == ["loss"]
    assert points(result, "loss") == [(1, "2.5"), (2, "inf")]
    assert (result.left_out, result.config[ConfigKey("wandb.sampled")]) == ((), False)


@pytest.mark.parametrize("axis", ["epoch", "train/global_step", "_step"])
def test_the_axis_may_be_any_step(axis: str, tmp_path: Path) -> None:
    result = runs(tmp_path, ONE.replace("Step", axis) + '"7","2.5","2.5","2.5"\n')["eager-sun-1"]
    assert points(result, "loss") == [(7, "2.5")]


@pytest.mark.parametrize(
    "axis", ["Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "tokens seen"]
)
def test_other_axis_is_reported_and_points_are_counted(axis: str, tmp_path: Path) -> None:
    result = runs(tmp_path, ONE.replace("Step", axis) + '"0.5","2.5","2.5","2.5"\n"1.5","2.0","2.0","2.0"\n')
    assert points(result["eager-sun-1"], "loss") == [(0, "2.5"), (1, "2.0")]
    assert axis in result["eager-sun-1"].left_out[0].reason


def test_a_column_of_steps_is_the_axis_where_there_is_one(tmp_path: Path) -> None:
    header = columns("Relative Time (Process)", "r - _step", "r - loss")
    result = runs(tmp_path, header + '"0.5","100","100","100","2.5","2.5","2.5"\n')
    assert points(result["r"], "loss") == [(100, "2.5")]
    assert result["r"].left_out == ()


def test_groups_and_several_metrics_are_separated(tmp_path: Path) -> None:
    header = columns("Step", "Group: X - loss", "Group: X - lr")
    result = runs(tmp_path, header + '"1","2.5","2.5","2.5","1e-3","1e-3","1e-3"\n')["Group: X"]
    assert [str(item.key) for item in result.logged] == ["loss", "lr"]


def test_of_several_runs_with_several_metrics_the_last_part_is_the_metric() -> None:
    header = ["Step", "a - b - loss", "a - b - loss__MIN", "c - loss", "c - lr"]
    assert [(item.run, item.metric) for item in parse_header(header)] == [
        ("a - b", "loss"),
        ("a - b", "loss"),
        ("c", "loss"),
        ("c", "lr"),
    ]


@pytest.mark.parametrize(
    "header",
    [
        "step,loss,lr",
        "Step,train - loss,lr",
        "step,train - loss,val - loss",
        "epoch,accuracy,loss,val_loss",
        "a,b",
    ],
)
def test_other_tables_are_no_exports(header: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n1,2,3\n")
    assert find_collection(tmp_path / "a.csv") is None


def test_csv_with_a_bar_in_a_column_name_is_a_log() -> None:
    assert CsvLog().sniff(PurePath("a.csv"), b"step,loss,lr - warm\n")


def test_no_format_takes_an_export_for_a_log() -> None:
    assert [
        item.name for item in formats().values() if item.sniff(PurePath("export.csv"), TWO.encode())
    ] == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_export_is_read_as_far_as_it_can_be(tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(TWO.encode())
    for _ in range(data.draw(st.integers(1, 10))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / "damaged.csv"
    file.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    collection = find_collection(file)
    if collection is None:
        return
    try:
        for run in collection.runs(file):
            list(row_batches(run.read()))
    except CollectionError:
        pass


def test_sampled_run_has_a_diagnostic(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text(TWO)
    collection = find_collection(file)
    assert collection is not None
    sampled = {name: run_launch_checks(result.data) for name, result in read_tracker_runs(file, collection)}
    assert [(item.code, item.attempt) for item in sampled["a - b"]] == [("sampled-history", 0)]
    assert sampled["c"] == []
