"""Names and numbers on lines of their own: names above their numbers, or below them in all of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log

_EPOCHS = range(1, 6)
PREFIXES = ["", "2026-05-04 10:00:01 INFO "]


def _values(tmp_path: Path, epoch: list[str], prefix: str = "") -> dict[str, list[float]]:
    """The values of a log whose epochs have these lines, in which `#` is the number of the epoch."""
    lines = [f"{prefix}{line.replace('#', str(at))}\n" for at in _EPOCHS for line in [f"Epoch {at}", *epoch]]
    run = read_log(tmp_path, "".join(lines))
    return {key.metric: series.value.tolist() for key, series in run.data.series.items()}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_below_their_numbers_from_the_second_block_on(tmp_path: Path, prefix: str) -> None:
    assert _values(tmp_path, ["0.3#", "Loss", "0.7#", "Accuracy"], prefix) == {
        "Loss": [0.32, 0.33, 0.34, 0.35],
        "Accuracy": [0.72, 0.73, 0.74, 0.75],
    }


@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_above_their_numbers(tmp_path: Path, prefix: str) -> None:
    assert _values(tmp_path, ["Loss", "0.3#", "Accuracy", "0.7#"], prefix) == {
        "Loss": [0.31, 0.32, 0.33, 0.34, 0.35],
        "Accuracy": [0.71, 0.72, 0.73, 0.74, 0.75],
    }


def test_a_number_without_a_name_above_the_first_name(tmp_path: Path) -> None:
    assert _values(tmp_path, ["0.001", "Loss", "0.3#", "Accuracy", "0.7#"]) == {
        "Loss": [0.32, 0.33, 0.34, 0.35],
        "Accuracy": [0.72, 0.73, 0.74, 0.75],
    }


def test_a_count_above_the_first_name(tmp_path: Path) -> None:
    assert _values(tmp_path, ["12#", "Loss", "0.3#"]) == {"Loss": [0.31, 0.32, 0.33, 0.34, 0.35]}


def test_a_number_below_another_epoch_has_no_name_of_the_one_before(tmp_path: Path) -> None:
    assert _values(tmp_path, ["0.9#", "val loss: 0.3#", "train loss:"]) == {
        "val loss": [0.31, 0.32, 0.33, 0.34, 0.35]
    }
