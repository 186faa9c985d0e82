"""Headings of epochs that say which of several things they are about, and counts of confusion matrices."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun
from tests.support.log_runs import read_log, steps_of


def values_of(run: OfflineRun) -> dict[str, list[float]]:
    """The values of each series, by its metric and its labels."""
    return {
        "/".join((key.metric, *(f"{name}={value}" for name, value in key.labels))): series.value.tolist()
        for key, series in run.data.series.items()
    }


@pytest.mark.parametrize(
    "heading", ["Model: {0} gate: tanh, epoch: {1}", "epoch: {1}, model: {0}", "| agent={0} | Epoch {1}/4 |"]
)
def test_a_heading_of_an_epoch_says_what_the_values_below_it_are_of(tmp_path: Path, heading: str) -> None:
    text = "".join(
        f"\n{heading.format(name, epoch)}\n"
        f"10:0{epoch}:00 Results so far: acc: {score}{epoch}.5, recall: 7{epoch}.25\n"
        f"10:0{epoch}:00 Current validation AUC: 0.{score}{epoch}\n"
        for epoch in (1, 2, 3, 4)
        for name, score in (("oak_net", 5), ("elm_net", 6))
    )
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    values = values_of(run)
    [other] = {name.removeprefix("acc") for name in values if name.startswith("acc/")}
    assert other in ("/model=elm_net", "/agent=elm_net")
    assert values["acc"] == [51.5, 52.5, 53.5, 54.5]
    assert values[f"acc{other}"] == [61.5, 62.5, 63.5, 64.5]
    assert values[f"Current validation AUC{other}"] == [0.61, 0.62, 0.63, 0.64]
    assert steps_of(run)[f"recall{other}"] == [1, 2, 3, 4]


def test_an_epoch_of_another_line_is_about_nothing(tmp_path: Path) -> None:
    text = "".join(
        f"Model: {name}, epoch: {epoch}\nauc: 0.{epoch}{digit}\nEpoch {epoch + 1}\nloss: 1.{epoch}\n"
        for epoch, name, digit in ((1, "oak", 1), (3, "elm", 2), (5, "oak", 1), (7, "elm", 2))
    )
    values = values_of(read_log(tmp_path, text))
    assert values["loss"] == [1.1, 1.3, 1.5, 1.7]
    assert values["auc"] == [0.11, 0.51]
    assert values["auc/model=elm"] == [0.32, 0.72]


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
