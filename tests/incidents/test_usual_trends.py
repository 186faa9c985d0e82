"""Which runs get worse by more than they do usually: a first look at points as they arrive."""

from __future__ import annotations

import timeit
from collections.abc import Sequence

import numpy as np
import pytest

from holter.detectors import find
from holter.server.analysis.usual_trends import UsualTrends
from holter.types import Column, DenseColumns, FloatArray, RunData, Series, SeriesKey, SeriesLayout
from tests.support.machine_speed import is_within

LOSS, SPEED = SeriesKey("loss"), SeriesKey("tokens_per_second")
KNOWN, MORE = 400, 200
YOUNG = 64
PASS_EVERY = 12
"""Points between two passes over a run that is not urgent."""


def test_a_slow_failure_is_seen_before_it_is_detected() -> None:
    rng = np.random.default_rng(0)
    step = np.arange(KNOWN + MORE)
    begun = np.maximum(step - KNOWN + 1, 0)
    noise = rng.normal(0, 0.01, (2, KNOWN + MORE))
    decay = 2 + 2 / (1 + step / 20)
    failures = {
        "creeps up by a tenth of its noise": (LOSS, decay + noise[0] + 0.001 * begun),
        "creeps up by a fifth of its noise": (LOSS, decay + noise[0] + 0.002 * begun),
        "throughput falls by 3 %": (SPEED, 5e4 * (1 + noise[1]) * np.where(begun, 0.97, 1)),
        "throughput falls by 5 %": (SPEED, 5e4 * (1 + noise[1]) * np.where(begun, 0.95, 1)),
    }
    for name, (key, values) in failures.items():
        (finding, *_) = find(RunData(series={key: build_series(key, values)}))
        assert finding.start_step >= KNOWN - 10, name
        assert unusual_points(key, values[: finding.detected_step + 1])[-1], name


@pytest.mark.parametrize(("known", "level"), [(YOUNG, 0.0), (YOUNG, 2.0), (KNOWN, 0.0), (KNOWN, 2.0)])
def test_healthy_runs_are_hardly_ever_seen(known: int, level: float) -> None:
    rng = np.random.default_rng(1)
    step = np.arange(known + MORE)
    decay = 2 + level / (1 + step / 20)
    shares = [
        np.mean(unusual_points(LOSS, decay + 0.01 * rng.standard_t(4, known + MORE), known))
        for _ in range(20)
    ]
    assert np.mean(shares) < 0.02


@pytest.mark.parametrize("dense", [True, False])
def test_what_gets_better_is_not_unusual(dense: bool) -> None:
    trends, values = UsualTrends(), 2 + np.random.default_rng(2).normal(0, 0.01, KNOWN)
    trends.learn(1, {LOSS: build_series(LOSS, values), SPEED: build_series(SPEED, values)})
    assert not any(trends.add(1, columns({LOSS: [1.5], SPEED: [2.5]}, dense)) for _ in range(40))
    assert any(trends.add(1, columns({LOSS: [2.0], SPEED: [2.3]}, dense)) for _ in range(100))


def test_points_in_one_delivery_or_in_many_give_the_same() -> None:
    values = 2 + np.random.default_rng(3).normal(0, 0.01, KNOWN)
    series = {LOSS: build_series(LOSS, values)}
    for more in (0.0, 0.008, 0.02):
        one, many = UsualTrends(), UsualTrends()
        one.learn(1, series)
        many.learn(1, series)
        batch = [2.0 + more * (number % 3) for number in range(60)]
        apart = [many.add(1, columns({LOSS: [value]}, False)) for value in batch]
        assert one.add(1, columns({LOSS: batch}, False)) == apart[-1]


def test_nothing_is_known_of_short_series_other_runs_ranks_and_values_that_are_not_finite() -> None:
    rank, trends = SeriesKey("loss", (("rank", "1"),)), UsualTrends()
    short = build_series(SPEED, np.ones(20))
    trends.learn(1, {LOSS: build_series(LOSS, np.full(KNOWN, 2.0)), SPEED: short})
    trends.learn(2, {SPEED: short})
    cases: list[dict[SeriesKey, list[float]]] = [
        {SPEED: [0.1]},
        {rank: [9.0]},
        {LOSS: [float("nan"), 9.0]},
        {LOSS: []},
    ]
    for given in cases:
        assert not trends.add(1, columns(given, False))
    assert not trends.add(2, columns({SPEED: [0.1]}, False))
    assert not trends.add(3, columns({LOSS: [9.0]}, False))
    assert trends.add(1, columns({LOSS: [9.0]}, False))


def test_the_greatest_floats_do_no_harm() -> None:
    trends = UsualTrends()
    values = np.random.default_rng(5).choice([-1.7e308, 0.0, 1.7e308], KNOWN)
    trends.learn(1, {LOSS: build_series(LOSS, values)})
    for value in (1.7e308, -1.7e308, 0.0):
        trends.add(1, columns({LOSS: [value] * 3}, False))


def test_equal_values_are_not_unusual() -> None:
    trends = UsualTrends()
    trends.learn(1, {LOSS: build_series(LOSS, np.full(KNOWN, 0.1))})
    assert not any(trends.add(1, columns({LOSS: [0.1]}, False)) for _ in range(600))


def test_a_series_that_begins_later_is_learned_too() -> None:
    trends, series = UsualTrends(), {LOSS: build_series(LOSS, np.full(KNOWN, 2.0))}
    trends.learn(1, series)
    trends.learn(1, series | {SPEED: build_series(SPEED, np.full(KNOWN, 5.0))})
    assert trends.add(1, columns({SPEED: [4.0]}, False))


def test_another_point_costs_microseconds() -> None:
    keys = [SeriesKey(f"loss/{number}") for number in range(16)]
    values = 2 + np.random.default_rng(4).normal(0, 0.01, KNOWN)
    trends = UsualTrends()
    trends.learn(1, {key: build_series(key, values) for key in keys})
    point = columns({key: [2.0] for key in keys}, True)
    seconds = min(timeit.repeat(lambda: trends.add(1, point), number=1, repeat=50))
    assert is_within(seconds, 2e-3)


def unusual_points(key: SeriesKey, values: FloatArray, known: int = KNOWN) -> list[bool]:
    """For each point from `known` on, whether it was unusual when it arrived; a pass follows if it was."""
    trends, passed = UsualTrends(), known
    trends.learn(1, {key: build_series(key, values[:known])})
    unusual = []
    for end in range(known, len(values)):
        unusual.append(trends.add(1, columns({key: [float(values[end])]}, False)))
        if unusual[-1] or end - passed >= PASS_EVERY:
            trends.learn(1, {key: build_series(key, values[: end + 1])})
            passed = end
    return unusual


def build_series(key: SeriesKey, values: FloatArray) -> Series:
    count = len(values)
    times = 1.7e9 + 5.0 * np.arange(count, dtype=np.float64)
    return Series(key=key, attempt=np.zeros(count, np.int64), step=np.arange(count), time=times, value=values)


def columns(values: dict[SeriesKey, list[float]], dense: bool) -> Sequence[Column]:
    arrays = [np.array(each, dtype=float) for each in values.values()]
    if dense:
        return DenseColumns(SeriesLayout(values), np.array(arrays))
    return [Column(key=key, values=array) for key, array in zip(values, arrays, strict=True)]
