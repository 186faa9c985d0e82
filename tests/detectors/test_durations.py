"""Slow-downs by durations: those of epochs, and those of which the name leaves open what they are of."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.detector import DetectorContext
from holter.detectors.throughput.regression import ThroughputRegressionDetector
from holter.types import Finding, FloatArray, RunData
from tests.support.curves import run, series

EPOCHS, SLOWER_FROM = 160, 100


def durations(seed: int, *, usual: float = 60.0) -> FloatArray:
    """Seconds of each epoch, which vary by 4 %, and by a third more from SLOWER_FROM on."""
    seconds = usual * np.random.default_rng(seed).lognormal(0, 0.04, EPOCHS)
    seconds[SLOWER_FROM:] *= 4 / 3
    return seconds


def slow_downs(data: RunData) -> list[Finding]:
    return list(ThroughputRegressionDetector().detect(data, DetectorContext()))


@pytest.mark.parametrize("name", ["time", "epoch_time", "batch_time", "train/time (s)"])
def test_epochs_that_take_longer_are_a_slow_down(name: str) -> None:
    (finding,) = slow_downs(run(series(name, durations(0))))
    assert abs(finding.start_step - SLOWER_FROM) <= 1
    assert f"{name} went from 60.7 to 80.1 s at step {finding.start_step}: " in finding.summary
    assert finding.evidence["lost"] == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("seed", range(8))
def test_epochs_that_vary_are_none(seed: int) -> None:
    assert slow_downs(run(series("time", 60 * np.random.default_rng(seed).lognormal(0, 0.04, EPOCHS)))) == []


def test_a_time_since_the_beginning_is_no_duration() -> None:
    elapsed = np.cumsum(durations(1))
    assert slow_downs(run(series("time", elapsed))) == []
    epochs = np.concatenate([np.cumsum(part) for part in np.split(durations(2), EPOCHS // 20)])
    assert slow_downs(run(series("time", epochs))) == []


def test_a_stated_speed_goes_before_a_duration_of_something() -> None:
    steady = 1e5 * np.random.default_rng(3).lognormal(0, 0.01, EPOCHS)
    assert slow_downs(run(series("time", durations(3)), series("tokens_per_s", steady))) == []


def test_a_rate_at_epochs_has_its_warm_up_by_wall_times() -> None:
    seconds = durations(4)
    (finding,) = slow_downs(run(series("images/s", 5e4 / seconds, time=1.7e9 + np.cumsum(seconds))))
    assert abs(finding.start_step - SLOWER_FROM) <= 1
    assert slow_downs(run(series("images/s", 5e4 / seconds))) == []  # 300 steps without a clock


def test_a_slow_down_of_epochs_is_the_same_whenever_it_is_looked_at() -> None:
    seconds, context, live = durations(5), DetectorContext(), []
    for rows in range(1, EPOCHS + 1):
        live = list(ThroughputRegressionDetector().detect(run(series("time", seconds[:rows])), context))
    assert live == slow_downs(run(series("time", seconds)))
