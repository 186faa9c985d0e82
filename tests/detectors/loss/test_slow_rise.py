"""Rises over many thousands of points are found, live as in the finished log; other movements are not."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import IncrementalState, find
from holter.detectors.detector import DetectorContext
from holter.detectors.loss.slow_rise import SlowRiseDetector
from holter.types import Finding, FloatArray, Kind, RunData
from tests.support.curves import run, series, until

POINTS = 40_000
BEGIN = 15_000


def noisy(level: FloatArray, sigma: float = 0.04, seed: int = 0) -> FloatArray:
    return level + np.random.default_rng(seed).normal(0, sigma, len(level))


def rising(height: float, points: int = 20_000) -> FloatArray:
    """A flat loss of 2 that rises by `height` over so many points."""
    return 2 + height * np.clip((np.arange(POINTS) - BEGIN) / points, 0, 1)


def slow_rises(data: RunData, state: IncrementalState | None = None) -> list[Finding]:
    return list(SlowRiseDetector().detect(data, DetectorContext(state=state or IncrementalState())))


@pytest.mark.parametrize("seed", range(3))
def test_a_rise_of_a_tenth_over_twenty_thousand_steps_is_a_divergence(seed: int) -> None:
    (finding,) = slow_rises(run(series("loss", noisy(rising(0.2), seed=seed))))
    assert finding.kind is Kind.DIVERGENCE
    assert abs(finding.start_step - BEGIN) < 2500
    assert finding.detected_step < BEGIN + 12_000
    assert finding.end_step is None
    assert finding.evidence["rollback_upto"] <= finding.start_step


def test_findings_are_the_same_for_a_shifted_and_scaled_loss() -> None:
    value = noisy(rising(0.2))
    (plain,) = slow_rises(run(series("loss", value)))
    (moved,) = slow_rises(run(series("loss", 1000 * value + 50)))
    assert (moved.start_step, moved.detected_step) == (plain.start_step, plain.detected_step)


@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_doubles_in_a_short_run_is_found_however_noisy_it_is(seed: int) -> None:
    points, begin = 6000, 2500
    growth = np.exp(np.log(2) * np.clip(np.arange(points) - begin, 0, 2000) / 1000)
    noise = np.random.default_rng(seed).gamma(8, 1 / 8, points)
    (finding,) = slow_rises(run(series("loss", growth * noise)))
    assert begin - 300 < finding.start_step < begin + 900
    assert finding.detected_step < begin + 2500


def test_a_slow_rise_within_a_rise_that_is_reported_is_a_part_of_it() -> None:
    points, begin = 6000, 2500
    level = 2 + np.clip((np.arange(points) - begin) / 1000, 0, 1)
    data = run(series("loss", noisy(level)[:points]))
    (rise,) = slow_rises(data)
    (finding,) = find(data)
    assert finding.detected_step < rise.detected_step


def test_a_rise_that_comes_back_ends() -> None:
    level = rising(0.2) - 0.2 * np.clip((np.arange(POINTS) - 36_000) / 500, 0, 1)
    (finding,) = slow_rises(run(series("loss", noisy(level))))
    assert finding.end_step is not None
    assert 36_000 < finding.end_step < 38_500


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(2 + 6 * (np.arange(POINTS) + 20.0) ** -0.3, id="falls"),
        pytest.param(2 + 0.2 * (np.arange(POINTS) >= BEGIN), id="jumps"),
        pytest.param(2 + 6.0 * (abs(np.arange(POINTS) - BEGIN) < 40), id="spikes within a block"),
        pytest.param(2 + 6.0 * (abs(np.arange(POINTS) - BEGIN) < 400), id="is high for some blocks"),
        pytest.param(2 + 0.02 * np.sin(np.arange(POINTS) / 3000), id="waves less than its noise"),
        pytest.param(2 + 0.1 * np.sin(np.arange(POINTS) / 150), id="waves as it always has"),
    ],
)
def test_other_levels_are_no_slow_rise(level: FloatArray) -> None:
    assert not slow_rises(run(series("loss", noisy(level))))


def test_a_walk_is_no_slow_rise() -> None:
    walks = [2 + np.cumsum(np.random.default_rng(seed).normal(0, 0.002, POINTS)) for seed in range(10)]
    found = sum(len(slow_rises(run(series("loss", noisy(walk))))) for walk in walks)
    assert found <= 1


def test_a_learning_rate_that_was_raised_explains_the_rise() -> None:
    rate = np.where(np.arange(POINTS) < BEGIN, 1e-4, 3e-4)
    assert not slow_rises(run(series("loss", noisy(rising(0.2))), series("lr", rate)))


def test_stages_that_were_logged_explain_the_rise() -> None:
    stage = (np.arange(POINTS)[:, None] >= (BEGIN, BEGIN + 6000, BEGIN + 12_000)).sum(axis=1)
    loss = noisy(2 + 0.1 * stage)
    assert slow_rises(run(series("loss", loss)))
    assert not slow_rises(run(series("loss", loss), series("curriculum/stage", stage.astype(np.float64))))
    constant = series("curriculum/stage", np.ones(POINTS))
    assert slow_rises(run(series("loss", loss), constant))


def test_a_rise_that_shorter_means_have_shown_is_one_finding() -> None:
    """A loss that leaves its noise within two thousand points is found by the scan for excursions."""
    findings = find(run(series("loss", noisy(rising(0.8, points=2000)))))
    assert len([each for each in findings if each.kind is Kind.DIVERGENCE]) == 1


def test_a_rollback_before_the_rise_ends_it() -> None:
    first, again = noisy(rising(0.2))[:35_000], noisy(np.full(20_000, 2.0), seed=1)
    step = np.concatenate((np.arange(35_000), np.arange(10_000, 30_000)))
    attempt = np.repeat((0, 1), (35_000, 20_000))
    (finding,) = slow_rises(run(series("loss", np.concatenate((first, again)), step=step, attempt=attempt)))
    assert finding.attempt == 0
    assert finding.end_step is not None


def test_a_rise_through_restarts_is_found() -> None:
    """A run that restarts every 5,000 steps, a little earlier each time."""
    value = noisy(rising(0.2))
    parts = [(max(first - 100, 0), first + 5000) for first in range(0, POINTS, 5000)]
    step = np.concatenate([np.arange(*part) for part in parts])
    attempt = np.repeat(range(len(parts)), [stop - first for first, stop in parts])
    (finding,) = slow_rises(run(series("loss", value[step], step=step, attempt=attempt)))
    assert abs(finding.start_step - BEGIN) < 2500


@pytest.mark.parametrize("seed", range(3))
def test_live_findings_equal_those_of_the_finished_log(seed: int) -> None:
    level = rising(0.2) - 0.2 * np.clip((np.arange(POINTS) - 36_000) / 500, 0, 1)
    whole = run(series("loss", noisy(level, seed=seed)))
    (final,) = slow_rises(whole)
    state = IncrementalState()
    for step in np.sort(np.random.default_rng(seed).integers(0, POINTS, 40)).tolist():
        live = slow_rises(until(whole, 0, step), state)
        assert live == slow_rises(until(whole, 0, step))
        assert [each.detected_step for each in live] == [final.detected_step] * (step >= final.detected_step)
        assert all(each.start_step == final.start_step for each in live)
