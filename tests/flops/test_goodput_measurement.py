"""Goodput: every microsecond between the first point and the newest goes into exactly one use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.attempts.goodput import TimeUse, clock_series, measure_goodput
from holter.flops.levels import attempt_spans
from holter.types import FloatArray, Series, SeriesKey


def series(*attempts: tuple[int, int, FloatArray]) -> Series:
    """Attempts of a number of steps from a first step on, with their times."""
    step = np.concatenate([np.arange(first, first + count) for first, count, _ in attempts])
    time = np.concatenate([times for _, _, times in attempts])
    number = np.concatenate([np.full(count, place) for place, (_, count, _) in enumerate(attempts)])
    return Series(key=SeriesKey("loss"), attempt=number, step=step, time=time, value=np.ones(len(step)))


attempts = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.lists(st.one_of(st.floats(-100, 5000), st.just(float("nan"))), min_size=1, max_size=120),
        st.floats(-1000, 100_000),
    ),
    min_size=1,
    max_size=6,
)


@given(attempts)
def test_the_uses_add_up_to_the_wall_time_to_the_microsecond(
    drawn: list[tuple[int, list[float], float]],
) -> None:
    begin, parts = 1_700_000_000.0, []
    for first, gaps, pause in drawn:
        begin += pause
        times = begin + np.cumsum(np.nan_to_num(gaps))
        begin = float(times[-1])
        parts.append((first, len(gaps), np.where(np.isnan(gaps), np.nan, times)))
    curve = series(*parts)
    found = measure_goodput(curve, attempt_spans(curve))
    clocked = np.rint(curve.time[np.isfinite(curve.time)] * 1e6).astype(np.int64)
    passed = int(clocked.max() - clocked[0]) if len(clocked) else 0
    if found is None:
        assert passed == 0
        return
    assert found.total == passed
    assert all(part >= 0 for part in found.microseconds.values())
    assert sum(found.share(what) for what in TimeUse) == pytest.approx(1.0)


def test_a_steady_run_moves_forward_all_the_time() -> None:
    curve = series((0, 2000, 10.0 * np.arange(2000)))
    found = measure_goodput(curve, attempt_spans(curve))
    assert found is not None
    assert found.share(TimeUse.FORWARD) == 1.0


def test_slow_time_is_the_additional_time_below_the_best_speed() -> None:
    gaps = np.where(np.arange(2000) < 1000, 1.0, 1.5)
    curve = series((0, 2000, np.cumsum(gaps)))
    found = measure_goodput(curve, attempt_spans(curve))
    assert found is not None
    assert found.seconds(TimeUse.SLOW) == pytest.approx(500, rel=0.03)
    assert found.seconds(TimeUse.FORWARD) == pytest.approx(2000, rel=0.03)


def test_noise_of_single_steps_is_not_slowness() -> None:
    rng = np.random.default_rng(0)
    curve = series((0, 5000, np.cumsum(rng.lognormal(0, 0.1, 5000))))
    found = measure_goodput(curve, attempt_spans(curve))
    assert found is not None
    assert found.share(TimeUse.SLOW) < 0.015


def test_larger_batches_take_longer_and_are_not_slow() -> None:
    work = np.where(np.arange(2000) < 1000, 256.0, 512.0)
    curve = series((0, 2000, np.cumsum(work / 256)))
    with_work = measure_goodput(curve, attempt_spans(curve), work)
    assert with_work is not None
    assert with_work.share(TimeUse.SLOW) == 0
    without_work = measure_goodput(curve, attempt_spans(curve))
    assert without_work is not None
    assert without_work.share(TimeUse.SLOW) > 0.3


def test_a_rollback_a_restart_and_a_stall_are_separate_uses() -> None:
    first = 10.0 * np.arange(100)
    first[50:] += 3600  # stood still for an hour
    second = first[-1] + 600 + 10.0 * np.arange(100)  # ten minutes to come back, twenty steps behind
    curve = series((0, 100, first), (80, 100, second))
    found = measure_goodput(curve, attempt_spans(curve))
    assert found is not None
    assert found.seconds(TimeUse.STALLED) == 3600
    assert found.seconds(TimeUse.RESTARTS) == 600
    assert found.seconds(TimeUse.SUPERSEDED) == 200
    assert found.seconds(TimeUse.FORWARD) + found.seconds(TimeUse.SLOW) == 79 * 10 + 99 * 10


def test_without_a_clock_there_is_nothing_to_split() -> None:
    curve = series((0, 10, np.full(10, np.nan)))
    assert measure_goodput(curve, attempt_spans(curve)) is None


def test_machines_and_collectives_are_no_clock_of_training() -> None:
    machine, loss = SeriesKey("gpu_power", (("steps", "samples"),)), SeriesKey("loss")
    assert clock_series({machine: 1000}) is None
    assert clock_series({machine: 1000, loss: 10, SeriesKey("lr"): 0}) == loss
