"""Lines of the training and of an evaluation in two columns, each below a heading."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

COLUMN = 60


def _heading(left: str, right: str) -> str:
    return f"  {left}".ljust(COLUMN + 1) + f"{right}   \n"


@pytest.mark.parametrize("data", ["Testing", "Validation", "test set"])
def test_lines_below_the_second_of_two_headings_are_of_its_data(data: str, tmp_path: Path) -> None:
    text = _heading("Training:", f"{data}:") + "=" * 100 + "\n"
    for step in range(0, 1001, 10):
        if step % 50 == 0:
            text += " " * COLUMN + f"Epoch {step // 600}  Iteration {step} loss = 2.{step:04d}\n"
        text += f"Epoch {step // 600}  Iteration {step} loss = 1.{step:04d}\n"
    run = read_log(tmp_path, text)
    name = f"{data.split()[0].lower()}/loss"
    steps = steps_of(run)
    assert run.attempts == 1
    assert steps.keys() == {"Epoch", "loss", name}
    assert (steps["loss"], steps[name]) == ([*range(0, 1001, 10)], [*range(0, 1001, 50)])
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert all(value < 2 for value in values["loss"])
    assert all(value >= 2 for value in values[name])


def test_indented_lines_without_such_headings_are_of_no_other_data(tmp_path: Path) -> None:
    text = "".join(" " * COLUMN + f"Iteration {step} loss = 1.{step:04d}\n" for step in range(0, 100, 10))
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*range(0, 100, 10)]}
