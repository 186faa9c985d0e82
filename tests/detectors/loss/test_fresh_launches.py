"""Programs that were started anew in the same log: nothing was restored, and nothing had to be."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
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


def trial_then_training(points: int) -> RunData:
    """A trial that logs each step, and a training with another loss that logs every 1,000th."""
    trial, training = 9.0 + curve(200, seed=3), 3.0 + curve(points, seed=4)
    return run_of(
        np.concatenate((trial, training)),
        step=np.concatenate((np.arange(200), 1000 * np.arange(1, points + 1))),
        attempt=np.repeat([0, 1], [200, points]),
    )


def test_a_launch_that_begins_with_its_own_logging_interval_continues_nothing() -> None:
    state = IncrementalState()
    for points in (1, 2, 3, 40, 300):
        data = trial_then_training(points)
        assert find(data, state=state) == find(data) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_rise_some_time_after_a_restart_is_dated_by_its_own_onset(seed: int) -> None:
    loss, attempt = curve(1200, seed=seed), np.repeat([0, 1], 600)
    loss[630:640] += 2.0
    (finding,) = find(run_of(loss, attempt=attempt))
    assert (finding.kind, finding.start_step) == (Kind.SPIKE_FAST, 630)


@pytest.mark.parametrize("seed", range(4))
def test_a_rise_with_a_restart_is_reported_from_its_second_point_on(seed: int) -> None:
    loss, attempt = curve(1200, seed=seed), np.repeat([0, 1], 600)
    loss[600:700] += 2.0
    state = IncrementalState()
    for stop, expected in ((601, 0), (602, 1), (1200, 1)):
        data = run_of(loss[:stop], attempt=attempt[:stop])
        findings = find(data, state=state)
        assert findings == find(data)
        assert [(each.kind, each.start_step) for each in findings] == [(Kind.RESUME_ARTIFACT, 600)] * expected
