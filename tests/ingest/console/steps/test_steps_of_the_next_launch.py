"""Where a launch has trained, it is no longer at the step at which the one before was left."""

from __future__ import annotations

from typing import Any

import pytest

from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.launch_beginnings import forget_position, is_before_training
from holter.ingest.console.steps.step_axis import training_step, training_steps


@pytest.mark.parametrize("in_columns", [False, True])
def test_a_launch_of_as_many_steps_as_the_one_before_has_trained_at_its_last_step(in_columns: bool) -> None:
    counts = [(step, 0) for step in range(1, 6)]
    state: dict[str, Any] = {}
    for launch in range(2):
        if in_columns:
            training_steps({Counter.STEP: counts}, state)
        else:
            for count in counts:
                training_step({Counter.STEP: count}, state)
        assert state["step"] == 5
        assert not is_before_training(state)
        if launch == 0:
            forget_position(state)
            assert is_before_training(state)
