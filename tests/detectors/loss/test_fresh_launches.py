"""Programs that were started anew in the same log: nothing was restored, and nothing had to be."""

from __future__ import annotations

import numpy as np

from holter.detectors import find
from holter.types import Kind, RunData
from tests.support.loss_curves import curve, run_of

POINTS = 600


def launches(second_rate: float, first_step: int) -> RunData:
    """Two launches with a constant learning rate each, logged every 20 steps."""
    first = np.arange(19, 20 * POINTS, 20)
    second = np.arange(first_step, first_step + 20 * POINTS, 20)
    return run_of(
        np.concatenate((curve(POINTS, seed=1), curve(POINTS, seed=2))),
        step=np.concatenate((first, second)),
        attempt=np.repeat([0, 1], POINTS),
        lr=np.repeat([1e-4, second_rate], POINTS),
    )


def test_a_launch_from_the_first_step_on_has_settings_of_its_own() -> None:
    assert find(launches(2e-4, first_step=19)) == []


def test_a_restart_within_the_run_must_restore_its_learning_rate() -> None:
    findings = find(launches(2e-4, first_step=20 * POINTS + 19))
    assert [finding.kind for finding in findings] == [Kind.RESUME_ARTIFACT]
    assert "did not restore the learning rate" in findings[0].summary
