"""Headings that say what the values below them are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.read_run import OfflineRun
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 5)


def of_labels(names: list[str], labels: list[str]) -> dict[str, list[int]]:
    """Series with each of these labels at the steps of all epochs."""
    return {name + label: [*N] for name in names for label in labels}


@pytest.mark.parametrize(
    ("headings", "labels"),
    [
        (["Task 0", "Task 1", "Task 2"], ["", "/task=1", "/task=2"]),
        (["Client 3:", "Client 5:"], ["", "/client=5"]),
        (["=== task 1 ===", "=== task 2 ==="], ["", "/task=2"]),
        (["[Dataset Red]", "[Dataset Blue]"], ["", "/dataset=Blue"]),
        (["Domain sketch:", "Domain photo:"], ["", "/domain=photo"]),
        (["=== Winter ===", "=== Summer ==="], ["", "/training=Summer"]),
    ],
)
def test_values_below_a_heading_are_of_what_it_names(
    headings: list[str], labels: list[str], tmp_path: Path
) -> None:
    text = "".join(
        f"Epoch {n}\n"
        + "".join(
            f"{heading}\nTrain Loss: {n}.{k}\nAccuracy: 0.{n}{k}\n" for k, heading in enumerate(headings)
        )
        for n in N
    )
    assert_steps(tmp_path, text, of_labels(["Train Loss", "Accuracy"], labels))


CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "evaluations of rounds": (
        "".join(
            f"--- Round number: {n} ---\n"
            + "".join(f"evaluation for task {k}\nAveraged Loss: {n}.{k}\n" for k in range(n))
            for n in N
        ),
        {"Averaged Loss": [*N], **{f"Averaged Loss/task={k}": [*range(k + 1, 5)] for k in (1, 2, 3)}},
    ),
    "below steps": (
        "".join(f"step {n} loss: 0.5{n}\n" + "".join(f"Task {k}\nval acc: 0.{n}{k}\n" for k in N) for n in N),
        {"loss": [*N], **of_labels(["val acc"], ["", "/task=2", "/task=3", "/task=4"])},
    ),
    "an evaluation of all behind them": (
        "".join(
            f"Epoch {n}\nClient 0:\naccuracy: 0.{n}1\nClient 1:\naccuracy: 0.{n}2\n"
            f"Evaluating global model\naccuracy: 0.{n}3\n"
            for n in N
        ),
        {**of_labels(["accuracy"], ["", "/client=1"]), "evaluating/accuracy": [*N]},
    ),
    "one subject": (
        "".join(f"Epoch {n}\nTask 1\nloss: {n}.5\n" for n in N),
        {"loss": [*N]},
    ),
    "other values below each": (
        "".join(f"Epoch {n}\nModel A:\nloss: {n}.5\nModel B:\naccuracy: 0.{n}\n" for n in N),
        {"loss": [*N], "accuracy": [*N]},
    ),
    "words behind that name nothing": (
        "".join(f"Epoch {n}\nModel saved.\nloss: {n}.5\nModel loaded.\nloss: {n}.4\n" for n in N),
        {"loss": [*N], "loss/repeat=2": [*N]},
    ),
    "more lines of an epoch than before, which are no batches": (
        "".join(
            f"Epoch {n}\n" + "".join(f"Train Loss: {n}.{k}\n" for k in range(1 if n < 5 else 3))
            for n in range(1, 9)
        ),
        {
            "Train Loss": [*range(1, 9)],
            "Train Loss/repeat=2": [*range(5, 9)],
            "Train Loss/repeat=3": [*range(5, 9)],
        },
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_the_steps_of_values_of_several_subjects(
    text: str, expected: dict[str, list[int]], tmp_path: Path
) -> None:
    assert_steps(tmp_path, text, expected)


@pytest.mark.parametrize(("word", "first"), [("Label", "{Label=0}"), ("Bin", "")])
def test_a_number_that_counts_the_rows_of_a_step_is_their_label(
    tmp_path: Path, word: str, first: str
) -> None:
    text = "".join(
        f"Epoch[1] Batch[{n}0] - loss: 1.{n}  acc: 46.0%\n"
        + f"Evaluating on dev set:\n  loss: 0.{n}  acc: 6{n}.5\n"
        + "".join(f"{word}:   {at}  Prec: 7{at}.{n}  Recall: 8{at}.{n}\n" for at in range(3))
        for n in range(1, 5)
    )
    series = {str(key): points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()}
    for at, label in enumerate((first, f"{{{word}=1}}", f"{{{word}=2}}")):
        assert series[f"dev/Prec{label}"] == [float(f"7{at}.{n}") for n in range(1, 5)]
        assert series[f"dev/Recall{label}"] == [float(f"8{at}.{n}") for n in range(1, 5)]
    assert not any("repeat" in name for name in series)
    assert f"dev/{word}{{{word}=1}}" not in series


def test_a_count_before_a_metric_is_no_label(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}\nhits: {n + 3} accuracy: 0.{n}\nhits: {2 * n} accuracy: 0.1{n}\n" for n in range(1, 5)
    )
    series = {str(key): points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()}
    assert set(series) == {"accuracy", "accuracy{repeat=2}"}


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
