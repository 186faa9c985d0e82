"""Headings that say what the values below them are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log

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


@pytest.mark.parametrize("word", ["Label", "Bin"])
def test_a_number_that_counts_the_rows_of_a_step_is_their_label(tmp_path: Path, word: str) -> None:
    text = "".join(
        f"Epoch[1] Batch[{n}0] - loss: 1.{n}  acc: 46.0%\n"
        + f"Evaluating on dev set:\n  loss: 0.{n}  acc: 6{n}.5\n"
        + "".join(f"{word}:   {at}  Prec: 7{at}.{n}  Recall: 8{at}.{n}\n" for at in range(3))
        for n in range(1, 5)
    )
    series = {str(key): points.value.tolist() for key, points in read_log(tmp_path, text).data.series.items()}
    for at, label in enumerate(("", f"{{{word}=1}}", f"{{{word}=2}}")):
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
