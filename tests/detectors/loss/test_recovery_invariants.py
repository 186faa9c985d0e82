"""What must not change how an excursion of a loss is followed: how often and in which pieces it is read, what
comes later, its units, and where its steps and its level begin. On forty random courses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from holter.detectors.loss.excursions.baseline import BaselineThresholds, DampedFall, LossNoise
from holter.detectors.loss.excursions.excursion_points import ExcursionPoints, RecoveryThresholds
from holter.detectors.loss.excursions.noise_tails import NoiseReach
from holter.detectors.loss.excursions.recovery import Recovery, track_recovery

LIMITS = RecoveryThresholds(
    near_points=4,
    lone_points=2,
    reference_points=16,
    far_steps=20,
    trend_steps=60,
    smoothing_steps=10,
    spacing_points=8,
    settled_steps=100,
    settled_points=16,
    lull_points=20,
    level_points=16,
    slow_rise_steps=20,
    drift_points=24,
    chunk_points=(8, 32),
)
"""As in use, for excursions of tens of points."""
LEVELS = (0.0, 0.0, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 20.0, 45.0)
SEEDS = range(80)


def random_course(seed: int) -> ExcursionPoints:
    """Levels with noise and single high points, which begin high: in sigmas, in steps of several spacings.

    All numbers are multiples of 1/1024, so that sums and multiples of them are exact.
    """
    rng = np.random.default_rng(seed)
    parts = [np.full(int(rng.integers(1, 60)), level) for level in (20.0, *rng.choice(LEVELS, 9))]
    value = np.concatenate(parts)[:400]
    value += rng.choice([0.0, 0.2, 1.0]) * rng.standard_normal(len(value))
    value[rng.random(len(value)) < 0.01] += rng.choice([4.0, 8.0, 30.0])
    if seed % 4 == 0:
        value += rng.choice([0.02, 0.1, 0.4]) * np.arange(len(value))
    value[0] = max(value[0], 8.0)
    spacing = (
        rng.integers(1, 4, len(value)) if seed % 3 == 0 else np.full(len(value), rng.choice([1, 1, 5, 30]))
    )
    detected = int(rng.integers(0, 6))
    noise = LossNoise(
        sigma=1.0,
        upper=2.0,
        tail=1.3,
        wander=((8, 1.5), (16, 2.0)) if seed % 2 else (),
        reach=NoiseReach(7.0, 9.0) if seed % 5 == 0 else NoiseReach(3.0, 4.0),
        thresholds=BaselineThresholds(median_points=5),
    )
    return ExcursionPoints(
        step=np.cumsum(spacing),
        value=np.round(value * 1024) / 1024,
        detected=detected,
        width=int(rng.choice([1, detected + 1, 30])),
        baseline=0.0,
        fall=DampedFall(slope=-1 / 32, span=32.0) if seed % 7 == 0 else DampedFall(),
        noise=noise,
        thresholds=LIMITS.after(4 if seed % 6 == 1 else 1000),
        progress=float(rng.choice([0.0, 1.0, 20.0, 60.0, 150.0])),
    )


COURSES = [random_course(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def recoveries() -> list[Recovery]:
    """How each of the courses developed, read at once."""
    return [track_recovery(points) for points in COURSES]


def without_search(recovery: Recovery) -> Recovery:
    """All but how far its end was searched for, which saves work and decides nothing."""
    return replace(recovery, search=None)


def assert_equal(found: Iterable[Recovery], expected: list[Recovery]) -> None:
    for seed, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert without_search(one) == without_search(other), seed


def test_the_courses_are_of_all_kinds(recoveries: list[Recovery]) -> None:
    assert 16 < sum(each.back is not None for each in recoveries) < 64
    assert sum(each.lasting_at is not None for each in recoveries) > 5
    begun = [each for each in recoveries if each.next_scan <= each.last_seen]
    assert sum(each.settled for each in begun) > 2
    assert sum(each.level_start == each.next_scan for each in begun) > 2
    assert sum(each.level_start < each.next_scan and not each.settled for each in begun) > 2


def test_what_is_read_bit_by_bit_is_what_is_read_at_once() -> None:
    rng = np.random.default_rng(0)
    for seed, points in enumerate(COURSES):
        known: Recovery | None = None
        for size in sorted({*rng.integers(points.detected + 1, len(points.step) + 1, 8), len(points.step)}):
            head = points.head(int(size))
            at_once, found = track_recovery(head), track_recovery(head, known)
            assert without_search(found) == without_search(at_once), (seed, size)
            if found.confirmed is not None:
                break
            known = found


def test_what_was_decided_was_decided_at_its_point_whatever_comes_later(recoveries: list[Recovery]) -> None:
    for seed, (points, full) in enumerate(zip(COURSES, recoveries, strict=True)):
        for name in ("confirmed", "next_scan", "lasting_at"):
            decided = getattr(full, name)
            if decided is not None and points.detected < decided < len(points.step):
                at_once, before = (track_recovery(points.head(decided + more)) for more in (1, 0))
                assert getattr(at_once, name) == decided, (seed, name)
                # without an end other excursions begin after the last point
                assert getattr(before, name) == (decided if name == "next_scan" else None), (seed, name)
                assert name != "next_scan" or at_once.level_start == full.level_start, seed


@pytest.mark.parametrize("chunk", [(1000, 1000), (3, 7)])
def test_the_pieces_in_which_it_is_read_decide_nothing(
    recoveries: list[Recovery], chunk: tuple[int, int]
) -> None:
    def in_pieces(points: ExcursionPoints) -> Recovery:
        return track_recovery(replace(points, thresholds=replace(points.thresholds, chunk_points=chunk)))

    assert_equal(map(in_pieces, COURSES), recoveries)


def test_the_unit_of_the_loss_decides_nothing(recoveries: list[Recovery]) -> None:
    def times_four(points: ExcursionPoints) -> Recovery:
        found = track_recovery(
            replace(
                points,
                value=4 * points.value,
                noise=replace(points.noise, sigma=4.0, upper=8.0),
                fall=replace(points.fall, slope=4 * points.fall.slope),
                progress=4 * points.progress,
            )
        )
        return replace(found, smoothed_peak=found.smoothed_peak / 4)

    assert_equal(map(times_four, COURSES), recoveries)


def test_the_unit_of_steps_decides_nothing_where_limits_are_in_the_same(recoveries: list[Recovery]) -> None:
    names = ("far_steps", "trend_steps", "smoothing_steps", "settled_steps", "slow_rise_steps")

    def four_steps_for_one(points: ExcursionPoints) -> Recovery:
        limits = replace(points.thresholds, **{name: 4 * getattr(points.thresholds, name) for name in names})
        fall = replace(points.fall, slope=points.fall.slope / 4, span=4 * points.fall.span)
        return track_recovery(replace(points, step=4 * points.step, thresholds=limits, fall=fall))

    assert_equal(map(four_steps_for_one, COURSES), recoveries)


def test_neither_the_level_nor_the_first_step_decides_anything(recoveries: list[Recovery]) -> None:
    def moved(points: ExcursionPoints) -> Recovery:
        return track_recovery(
            replace(points, step=points.step + 5000, value=points.value + 64.0, baseline=64.0)
        )

    assert_equal(map(moved, COURSES), recoveries)


def test_the_end_of_what_lasts_is_not_searched_for_from_its_beginning_again() -> None:
    high = replace(COURSES[1], step=np.arange(5000), value=np.full(5000, 20.0), detected=0, width=1)
    search = track_recovery(high).search
    assert search is not None
    assert search.index > 5000 - 2 * LIMITS.chunk_points[1] - LIMITS.far_steps
    assert search.highest == 20
    assert search.size <= LIMITS.chunk_points[1]


@pytest.mark.parametrize(("spacing", "settled"), [(1, 110), (8, 44), (30, 44)])
def test_the_return_of_what_had_settled_is_seen_at_its_point_where_each_is_read_by_itself(
    spacing: int, settled: int
) -> None:
    for high in range(settled, settled + 16):
        points = replace(
            COURSES[1],
            step=spacing * np.arange(high + 30),
            value=np.repeat([20.0, 0.0], [high, 30]),
            detected=0,
            width=1,
            thresholds=LIMITS,
        )
        at_once, known, size = track_recovery(points), track_recovery(points.head(high - 4)), high - 4
        while known.confirmed is None and size < len(points.step):
            size += 1
            known = track_recovery(points.head(size), known)
        assert (known.back, known.confirmed, size) == (high, at_once.confirmed, known.last_seen + 1), high


def test_a_rise_by_exactly_half_counts_whenever_it_is_read() -> None:
    value = np.repeat([10.0, 20.0], [130, 40])
    points = replace(
        COURSES[1],
        step=np.arange(170),
        value=value,
        detected=0,
        width=1,
        thresholds=LIMITS,
    )
    settled = track_recovery(points.head(130))
    assert settled.next_scan <= settled.last_seen
    assert track_recovery(points, settled).half_peak == track_recovery(points).half_peak == 0


def test_that_it_lasts_is_found_at_the_same_point_where_each_is_read_by_itself() -> None:
    """It is examined at few points, at the first of which the fall to a lower level was recent."""
    points = replace(
        COURSES[1],
        step=np.arange(420),
        value=np.repeat([100.0, 20.0], [80, 340]),
        detected=0,
        width=1,
        thresholds=LIMITS,
        progress=40.0,
    )
    at_once, known = track_recovery(points), track_recovery(points.head(130))
    assert known.next_scan <= known.last_seen, "what follows is read as a continuation"
    assert (known.lasting_at, at_once.lasting_at is None) == (None, False)
    for size in range(131, 421):
        known = track_recovery(points.head(size), known)
        lasted = at_once.lasting_at is not None and at_once.lasting_at < size
        assert known.lasting_at == (at_once.lasting_at if lasted else None)
