"""Headings of epochs that state no number: the values below the first of a launch are of its first epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

OPENING = "| INFO | ===== The run =====\n| INFO | Reading the data\n| INFO | Model with 12 layers on cuda\n"
VALUES = (
    "| INFO | Train Loss: 0.{0}62, Acc: 0.{0}50\n| INFO | Validation loss: 0.{0}06, Validation acc: 0.{0}25\n"
)


@pytest.mark.parametrize("heading", ["Start epoch :", "Starting a new epoch ...", "=== New epoch ==="])
def test_values_below_headings_of_epochs_without_a_number(tmp_path: Path, heading: str) -> None:
    epochs = "".join(f"| INFO | {heading}\n{VALUES.format(n)}" for n in range(1, 5))
    run = read_log(tmp_path, OPENING + epochs)
    assert run.attempts == 1
    assert set(map(tuple, steps_of(run).values())) == {(1, 2, 3, 4)}


def test_launches_that_ended_in_their_first_epoch_are_above_those_with_numbers(tmp_path: Path) -> None:
    ended = f"{OPENING}| INFO | Start epoch :\n{VALUES.format(3)}"
    empty = f"{OPENING}| INFO | Start epoch :\n"
    numbered = "".join(f"| INFO | Start epoch {n}:\n{VALUES.format(n)}" for n in range(1, 5))
    run = read_log(tmp_path, 3 * empty + 2 * ended + empty + ended + OPENING + numbered)
    assert run.attempts == 4
    assert set(map(tuple, steps_of(run).values())) == {(1, 1, 1, 1, 2, 3, 4)}


@pytest.mark.parametrize("first", [0, 1])
def test_epochs_that_lines_number_themselves_are_those(tmp_path: Path, first: int) -> None:
    text = "".join(
        f"| INFO | Start epoch\n| INFO | Epoch {n}: loss 0.{n}5\n| INFO | Validation loss: 0.{n}06\n"
        for n in range(first, first + 4)
    )
    steps = steps_of(read_log(tmp_path, OPENING + text))
    assert set(map(tuple, steps.values())) == {tuple(range(first, first + 4))}


@pytest.mark.parametrize("form", ["step {0}: loss 1.{1}{0}\n", "Batch {0}/50: loss 1.{1}{0}\n"])
def test_steps_that_begin_anew_below_such_headings_continue_through_the_epochs(
    tmp_path: Path, form: str
) -> None:
    epochs = (
        "Start epoch\n" + "".join(form.format(i, n) for i in range(10, 60, 10)) + f"Validation loss: 0.{n}\n"
        for n in range(1, 5)
    )
    run = read_log(tmp_path, OPENING + "".join(epochs))
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(10, 210, 10)], "Validation loss": [50, 100, 150, 200]}
