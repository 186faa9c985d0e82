"""Counts of a confusion matrix in a line: read beside a metric, else settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun
from tests.support.log_runs import read_log


def values_of(run: OfflineRun) -> dict[str, list[float]]:
    """The values of each series, by its metric and its labels."""
    return {
        "/".join((key.metric, *(f"{name}={value}" for name, value in key.labels))): series.value.tolist()
        for key, series in run.data.series.items()
    }


@pytest.mark.parametrize(
    "counts",
    [
        "confusion: {{'tn': 41{0}, 'fp': {0}, 'fn': 3{0}, 'tp': 145}}, ",
        "TP=145, FP={0}, FN=3{0}, TN=41{0}",
    ],
)
def test_the_counts_of_a_confusion_matrix_beside_a_metric_are_read(tmp_path: Path, counts: str) -> None:
    text = "".join(f"Epoch {n}\nResults so far: acc: 0.8{n}, {counts.format(n)}\n" for n in (1, 2, 3))
    values = {name.lower(): numbers for name, numbers in values_of(read_log(tmp_path, text)).items()}
    assert values["acc"] == [0.81, 0.82, 0.83]
    assert values["tn"] == [411, 412, 413]
    assert values["fp"] == [1, 2, 3]
    assert values["fn"] == [31, 32, 33]
    assert values["tp"] == [145, 145, 145]


def test_one_count_alone_is_a_setting_as_before(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}\nResults so far: acc: 0.8{n}, tp: 8\n" for n in (1, 2, 3))
    assert values_of(read_log(tmp_path, text)).keys() == {"acc"}


@pytest.mark.parametrize("prefix", ["", "| 2026-07-02 08:17:04 | INFO | "])
@pytest.mark.parametrize(
    ("results", "names"),
    [
        ("Validation loss: 1.72{n}, acc: 0.66", "Validation {}"),
        ("Test: loss: 1.72{n}, acc: 0.66", "test/{}"),
        ("val_loss: 1.72{n}, val_acc: 0.66", "val/{}"),
    ],
)
def test_counts_alone_are_of_the_evaluation_below_where_the_training_has_its_own(
    prefix: str, results: str, names: str, tmp_path: Path
) -> None:
    text = "".join(
        f"{prefix}Start epoch {n}:\n"
        f"{prefix}Train loss: 1.57{n}, tp: 1{n}, fn: 24, fp: 3, tn: 105, acc: 0.81\n"
        f"{prefix}tp: 2{n}, fn: 41, fp: 5, tn: 859\n{prefix}{results.format(n=n)}\n"
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert (values["tp"], values[names.format("tp")]) == ([11, 12, 13], [21, 22, 23])
    assert all(not key.labels for key in run.data.series)


def test_counts_alone_above_no_evaluation_are_read_as_any_other_line(tmp_path: Path) -> None:
    text = "".join(
        f"Start epoch {n}:\nTrain loss: 1.57{n}, tp: 1{n}, fn: 24, fp: 3, tn: 105\n"
        f"tp: 2{n}, fn: 41, fp: 5, tn: 859\n"
        for n in (1, 2, 3)
    )
    run = read_log(tmp_path, text)
    series = run.data.series.items()
    values = {(key.metric, bool(key.labels)): each.value.tolist() for key, each in series}
    assert values["tp", False] == [11, 12, 13]
    assert values["tp", True][-1] == 23
    assert {name for name, _ in values} == {"Train loss", "tp", "fn", "fp", "tn"}
