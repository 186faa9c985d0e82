"""Evaluations that take several times as long as all before them, of which there are few."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors import find
from holter.types import Finding, FloatArray, Severity
from tests.support.curves import run, series

EVERY = 200


def durations(seed: int, *, slow_from: int = 12, slow_until: int = 24, times: float = 5.0) -> FloatArray:
    random = np.random.default_rng(seed)
    row = np.arange(24)
    level = np.where((row >= slow_from) & (row < slow_until), 12.0 * times, 12.0)
    level[0] *= 2
    return np.asarray(level * np.exp(0.04 * random.standard_normal(24)))


def slow(**curves: FloatArray) -> list[Finding]:
    at = EVERY * np.arange(1, 25)
    return find(run(*(series(name, value, step=at) for name, value in curves.items())))


@pytest.mark.parametrize("seed", range(3101, 3105))
@pytest.mark.parametrize("metric", ["eval_runtime", "val_time (s)", "test/duration"])
def test_evaluations_that_take_five_times_as_long_are_reported(metric: str, seed: int) -> None:
    (finding,) = slow(**{metric: durations(seed)})
    assert (finding.kind, finding.severity) == ("throughput_regression", Severity.WARNING)
    assert (finding.start_step, finding.detected_step) == (13 * EVERY, 15 * EVERY)
    assert "times as long" in finding.summary
    assert finding.summary.endswith(" s.")


def test_a_rate_states_it_and_a_larger_set_is_no_slow_evaluation() -> None:
    time = durations(3106)
    (finding,) = slow(eval_runtime=time, eval_samples_per_second=500 / time)
    assert finding.metric == "eval_samples_per_second"
    assert finding.summary[-2].isdigit()  # the name states the unit
    assert slow(eval_runtime=time, eval_samples_per_second=np.full(24, 40.0)) == []


def test_slow_evaluations_that_are_fast_again_are_information() -> None:
    (finding,) = slow(eval_runtime=durations(3107, slow_until=18))
    assert (finding.severity, finding.end_step) == (Severity.INFO, 19 * EVERY)
    assert "times as long from step 2,600 until step 3,800: " in finding.summary
    assert finding.advice.startswith("Nothing to do now")


@pytest.mark.parametrize(
    "curve",
    [
        durations(3108, times=1.3),
        durations(3108, slow_until=14),
        durations(3108, slow_from=3),
        12 * np.exp(0.1 * np.arange(24)),
        np.random.default_rng(3109).uniform(5, 60, 24),
    ],
    ids=["a third", "two alone", "nothing known", "gradually", "as before"],
)
def test_other_durations_of_evaluations_are_not(curve: FloatArray) -> None:
    assert slow(eval_runtime=curve) == []


def test_durations_of_training_are_no_evaluations() -> None:
    assert slow(epoch_time=durations(3110)) == []
