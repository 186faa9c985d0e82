"""Restarts that show when the steps which they repeat are compared with the same steps before."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState
from holter.detectors.detector import DetectorContext
from holter.detectors.loss.spike import SpikeDetector
from holter.types import FloatArray, Kind, RunData
from tests.support.curves import until
from tests.support.filtered_noise import filtered
from tests.support.loss_curves import detect_all, run_of

POINTS, AT, STOPPED, SIGMA = 900, 600, 660, 0.02
LEVEL = np.linspace(4.0, 2.0, POINTS)


def batches(seed: int) -> FloatArray:
    return SIGMA * np.random.default_rng(seed).standard_normal(POINTS)


def rolled_back(first: FloatArray, second: FloatArray) -> RunData:
    """An attempt up to STOPPED, and one that repeats it from AT on."""
    return run_of(
        np.concatenate((first[:STOPPED], second[AT:])),
        step=np.concatenate((np.arange(STOPPED), np.arange(AT, POINTS))),
        attempt=np.repeat([0, 1], [STOPPED, POINTS - AT]),
    )


def older(behind: int) -> FloatArray:
    """The level of a model whose weights are those of so many steps before, until it has caught up."""
    since = np.maximum(np.arange(POINTS) - AT, 0)
    return np.where(np.arange(POINTS) >= AT, LEVEL[0] - LEVEL[behind], 0.0) * np.exp(-since / 40)


@pytest.mark.parametrize("seed", range(4))
def test_a_rise_that_the_fall_before_hides_shows_against_the_same_steps(seed: int) -> None:
    noise = batches(seed)
    # below the mean level of the last hundred points, but above its own course, with the same batches
    run = rolled_back(LEVEL + noise, LEVEL + noise + older(18))
    (finding,) = detect_all(run)
    assert (finding.kind, finding.attempt, finding.start_step) == (Kind.RESUME_ARTIFACT, 1, AT)
    assert finding.detected_step < AT + 30
    assert finding.evidence["baseline"] == pytest.approx(LEVEL[AT:][:20].mean(), abs=0.05)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_steps_with_other_batches_are_no_finding(seed: int) -> None:
    assert not detect_all(rolled_back(LEVEL + batches(seed), LEVEL + batches(seed + 50)))


@pytest.mark.parametrize("seed", range(4))
def test_the_same_batches_with_another_course_of_rounding_are_no_finding(seed: int) -> None:
    """Whatever little two courses differ by, they do for many steps in sequence."""
    noise, since = batches(seed), np.maximum(np.arange(POINTS) - AT, 0)
    course = 0.2 * SIGMA * (1 - np.exp(-since / 10))
    assert not detect_all(rolled_back(LEVEL + noise, LEVEL + noise + course))


@pytest.mark.parametrize("seed", range(10))
def test_moving_averages_of_other_batches_are_no_finding(seed: int) -> None:
    smooth = [filtered(3 * batches(each), gain=0.1, decay=0.9) for each in (seed, seed + 50)]
    assert not detect_all(rolled_back(LEVEL + smooth[0], LEVEL + smooth[1]))


def test_a_last_digit_is_no_finding() -> None:
    value = np.round(LEVEL + batches(0), 1)
    assert not detect_all(rolled_back(value, np.round(value + 0.001, 3)))


def test_a_repeated_step_that_was_logged_twice_is_compared_once() -> None:
    noise = batches(1)
    first, second = LEVEL + noise, LEVEL + noise + older(18)
    run = run_of(
        np.concatenate((first[:STOPPED], np.repeat(second[AT:], 2))),
        step=np.concatenate((np.arange(STOPPED), np.repeat(np.arange(AT, POINTS), 2))),
        attempt=np.repeat([0, 1], [STOPPED, 2 * (POINTS - AT)]),
    )
    assert Kind.RESUME_ARTIFACT in {finding.kind for finding in detect_all(run)}


def test_each_look_finds_what_the_whole_log_shows() -> None:
    noise, state = batches(2), IncrementalState()
    run = rolled_back(LEVEL + noise, LEVEL + noise + older(18))
    for step in range(AT + 1, POINTS, 13):
        seen = until(run, 1, step)
        live = list(SpikeDetector().detect(seen, DetectorContext(state=state)))
        assert live == detect_all(seen)
