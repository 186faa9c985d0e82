"""Reported findings stay, at the same position, however a run continues, and are reported without delay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.detectors import Detector
from holter.detectors.detector import DetectorContext
from holter.detectors.ranks.straggler import StragglerDetector
from holter.detectors.repeated_data.repeated_data import RepeatedDataDetector
from holter.detectors.throughput.regression import ThroughputRegressionDetector
from holter.detectors.throughput.stall import StallDetector
from holter.types import RunData
from tests.support.curves import identity, rank_times, run, series, until

seeds = st.integers(0, 2**32 - 1)


def assert_causal(
    detector: Detector, full_run: RunData, cuts: list[tuple[int, int]], *, at_once: bool = True
) -> None:
    """Compare the findings after each cut (attempt, step) with those on the full run.

    A finding's attempt is where it began: it may have been spoken in a later one, so that only in runs
    of one attempt its step tells when it was due.
    """
    at_once = at_once and all(int(one.attempt.max()) == 0 for one in full_run.series.values())
    reported = {identity(finding): finding for finding in detector.detect(full_run, DetectorContext())}
    for attempt, step in cuts:
        on_prefix = {
            identity(finding)
            for finding in detector.detect(until(full_run, attempt, step), DetectorContext())
        }
        assert on_prefix <= set(reported)
        due = {who for who, one in reported.items() if (one.attempt, one.detected_step) <= (attempt, step)}
        assert not at_once or due <= on_prefix


def cuts_of(full_run: RunData, rng: np.random.Generator, count: int = 8) -> list[tuple[int, int]]:
    longest = max(full_run.series.values(), key=len)
    places = rng.integers(0, len(longest), count).tolist()
    return [(int(longest.attempt[place]), int(longest.step[place])) for place in places]


def attempts_of(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Attempts and steps of n points: up to three launches, each rolling back a little."""
    ends = np.sort(rng.choice(np.arange(1, n), int(rng.integers(0, 3)), replace=False))
    attempt = np.searchsorted(ends, np.arange(n), side="right")
    back = np.cumsum(rng.integers(0, 60, 3))
    step = np.arange(n) - np.where(attempt > 0, back[np.maximum(attempt - 1, 0)], 0)
    return attempt, np.maximum(step, np.arange(n) - n) - min(0, int(step.min()))


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_throughput(seed: int) -> None:
    """Levels, ramps, pauses and restarts at random; sometimes another batch size."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 2500))
    edges = np.sort(rng.integers(0, n, int(rng.integers(0, 7))))
    levels = np.exp(rng.normal(0, 0.15, len(edges) + 1))[np.searchsorted(edges, np.arange(n), side="right")]
    ramp = np.exp(
        -np.clip((np.arange(n) - rng.integers(0, n)) / rng.integers(50, 2000), 0, 1) * rng.uniform(0, 0.3)
    )
    speed = 1e5 * levels * ramp * np.exp(rng.normal(0, rng.uniform(0.001, 0.05), n))
    speed[rng.random(n) < 0.02] *= 0.1
    tokens = 2e5 * np.where(np.arange(n) < rng.integers(0, n), 1.0, rng.choice([1.0, 2.0]))
    attempt, step = attempts_of(rng, n)
    where = {"attempt": attempt, "step": step, "time": 1.7e9 + np.cumsum(tokens / speed)}
    full_run = run(series("tokens_per_s", speed, **where), series("step_time", tokens / speed, **where))
    assert_causal(ThroughputRegressionDetector(), full_run, cuts_of(full_run, rng))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_stragglers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, ranks = int(rng.integers(10, 300)), int(rng.integers(3, 12))
    slow = []
    for _ in range(int(rng.integers(0, 8))):
        first = int(rng.integers(0, rows))
        slow.append(
            (int(rng.integers(ranks)), first, first + int(rng.integers(1, 60)), float(rng.uniform(1.0, 1.4)))
        )
    full_run = run(*rank_times(rng, rows, ranks, slow=slow))
    assert_causal(StragglerDetector(), full_run, cuts_of(full_run, rng))


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_repeated_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    attempt, step = attempts_of(rng, int(rng.integers(200, 1500)))
    behind = np.cumsum(rng.integers(0, 2, 3) * rng.integers(0, 600, 3))
    place = np.maximum(step - np.where(attempt > 0, behind[np.maximum(attempt - 1, 0)], 0), 0)
    stream = rng.normal(0, 1, 3000)[place] + rng.normal(0, rng.uniform(0.1, 2.0), len(step))
    loss = (2 + 6 * (step + 30.0) ** -0.35) * np.exp(0.04 * stream)
    full_run = run(series("loss", loss, attempt=attempt, step=step))
    assert_causal(RepeatedDataDetector(), full_run, cuts_of(full_run, rng))


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_stalls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 400))
    gaps = rng.uniform(1, 60) * rng.gamma(2.0, 0.5, n)
    gaps[rng.random(n) < 0.02] += rng.uniform(100, 1e5)
    attempt, step = attempts_of(rng, n)
    full_run = run(series("loss", np.ones(n), attempt=attempt, step=step, time=1.7e9 + np.cumsum(gaps)))
    # a silence shows in the next point only
    assert_causal(StallDetector(), full_run, cuts_of(full_run, rng), at_once=False)
    for attempt_then, step_then in cuts_of(full_run, rng, 4):
        then = until(full_run, attempt_then, step_then)
        last = max(float(one.time.max()) for one in then.series.values())
        following = full_run.named(["loss"])[0].time
        later = following[following > last]
        if len(later):
            live = {
                identity(one)
                for one in StallDetector().detect(
                    RunData(series=then.series, now=float(later[0]) - 1e-3), DetectorContext()
                )
            }
            assert live <= {identity(one) for one in StallDetector().detect(full_run, DetectorContext())}
