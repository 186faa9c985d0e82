"""What was measured before the training, above the first line that states a position."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.types import SeriesKey
from tests.support.log_runs import assert_steps, read_log, steps_of

N = range(1, 6)
EPOCHS = "".join(f"Epoch {n}: train loss {2 - n / 8}, val loss {2.25 - n / 8}\n" for n in N)
TRAINED = {"train loss": [*N], "val loss": [*N]}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Initial validation loss: 2.375", ["Initial validation loss"]),
        (
            "[Initial] validation: accuracy=0.25, loss=2.5",
            ["initial/validation/accuracy", "initial/validation/loss"],
        ),
        ("Before training: loss = 2.5, acc = 0.125", ["initial/loss", "initial/acc"]),
        ("Accuracy before training: 0.125", ["Accuracy before training"]),
        ("Test accuracy at initialization: 12.5%", ["Test accuracy at initialization"]),
    ],
)
def test_it_is_at_the_step_0(tmp_path: Path, line: str, names: list[str]) -> None:
    assert_steps(tmp_path, f"Using device: cpu\n{line}\n{EPOCHS}", TRAINED | {name: [0] for name in names})


@pytest.mark.parametrize(
    "line", ["Initial learning rate: 0.125", "Initial temperature: 0.5", "Loss weights before training: none"]
)
def test_settings_are_none_of_it(tmp_path: Path, line: str) -> None:
    assert steps_of(read_log(tmp_path, f"Using device: cpu\n{line}\n{EPOCHS}")) == TRAINED


def test_that_of_each_launch_is_its_own(tmp_path: Path) -> None:
    opening = "Reading the images of data/train\nBuilding the network of 12 layers\nUsing device: cpu\n"
    text = "".join(f"{opening}Initial validation loss: 2.{n}\n{EPOCHS}" for n in (1, 2, 3))
    run = read_log(tmp_path, text)
    initial = run.data.series[SeriesKey("Initial validation loss")]
    assert (initial.attempt.tolist(), initial.value.tolist()) == ([0, 1, 2], [2.1, 2.2, 2.3])
    assert run.attempts == 3
