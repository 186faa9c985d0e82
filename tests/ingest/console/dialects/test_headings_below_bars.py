"""Headings of epochs below their bars, above the means: `Epoch 1:  100%|##| 60/60`, then `Epoch 1/9`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of
from tests.support.progress_bars import bar

EPOCHS = range(1, 5)
DESCRIPTIONS = ["Epoch {}", "Epoch {}/9", "Training", ""]
VALIDATIONS = {"none": "", "without values": "\n" + bar(8, 8, "Validation"), "with": "with"}


def _epoch(number: int, description: str, validation: str = "", *, is_headed_first: bool = False) -> str:
    named, heading = description.format(number), f"\nEpoch {number}/9\n"
    bars = "".join(
        "\r" + bar(at, 60, named, f", loss={3 / (number + at / 60):.3f}") for at in (0, 20, 40, 60)
    )
    if validation == "with":
        validation = "\n" + bar(8, 8, "Validation", f", loss=0.{number}5")
    means = f"  Train Loss: 1.{number}\n  Val Loss: 2.{number}\n"
    if is_headed_first:
        return f"{heading}{bars}{validation}\n{means}"
    return f"{bars}{validation}\n{heading}{means}"


@pytest.mark.parametrize("is_headed_first", [False, True], ids=["heading below", "heading above"])
@pytest.mark.parametrize("validation", VALIDATIONS)
@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_means_of_an_epoch_are_at_the_end_of_its_bar(
    description: str, validation: str, *, is_headed_first: bool, tmp_path: Path
) -> None:
    text = "".join(
        _epoch(number, description, VALIDATIONS[validation], is_headed_first=is_headed_first)
        for number in EPOCHS
    )
    ends = [60 * number for number in EPOCHS]
    expected = {"loss": [*range(0, 241, 20)], "Train Loss": ends, "Val Loss": ends}
    if validation == "with":
        expected["validation/loss"] = ends
    assert_steps(tmp_path, text, expected)


def test_the_bars_of_the_next_launch_are_above_their_headings_too(tmp_path: Path) -> None:
    launch = "Using device: cpu\n" + "".join(_epoch(number, "Epoch {}") for number in EPOCHS)
    run = read_log(tmp_path, 2 * launch)
    assert run.attempts == 2
    assert steps_of(run)["Train Loss"] == 2 * [60 * number for number in EPOCHS]
