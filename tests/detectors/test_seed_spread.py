"""How far runs that differ by the seed only settle apart."""

from __future__ import annotations

import numpy as np
import pytest

from holter.detectors.compare.grid import GriddedCurve
from holter.detectors.compare.seed_spread import INTERVALS, CurveLevels, levels_of, spread_of_repetitions
from holter.detectors.compare.significance import Curve


def repetition(level: float, points: int = 5000, *, end: float = 5000.0) -> CurveLevels:
    x = np.linspace(0.0, end, points)
    return levels_of(GriddedCurve(x, np.full(points, level)))


def test_levels_are_means_over_intervals_and_few_however_long_the_curve_is() -> None:
    random = np.random.default_rng(0)
    x = np.arange(100_000.0)
    levels = levels_of(GriddedCurve(x, random.normal(3, 1, len(x))))
    assert len(levels.center) == INTERVALS
    assert levels.points.sum() == len(x)
    assert np.average(levels.mean, weights=levels.points) == pytest.approx(3, abs=0.02)


def test_a_level_is_the_mean_of_the_points_within_limits() -> None:
    x = np.arange(1000.0)
    value = np.where(x < 500, 4.0, 2.0)
    levels = levels_of(GriddedCurve(x, value))
    assert levels.level((500.0, 999.0)) == 2.0
    assert levels.level((0.0, 499.0)) == 4.0
    assert levels.level((400.0, 599.0)) == pytest.approx(3.0, abs=0.02)
    assert levels.level((2000.0, 3000.0)) == 2.0  # the newest interval where none is within


def test_gaps_of_x_have_no_level_of_their_own() -> None:
    x = np.concatenate((np.arange(100.0), 10_000 + np.arange(100.0)))
    levels = levels_of(GriddedCurve(x, np.ones(200)))
    assert levels.points.min() > 0
    assert levels.level((50.0, 10_050.0)) == 1.0


def test_the_spread_is_that_of_the_difference_of_two_repetitions() -> None:
    group = [repetition(level) for level in (1.98, 2.0, 2.02)]
    spread = spread_of_repetitions([group])
    assert spread is not None
    assert spread.freedom == 2
    # each level deviates by 1 %, the difference of two by the root of two times as much
    assert spread.relative == pytest.approx(0.01 * 2**0.5, rel=1e-6)


def test_groups_have_levels_of_their_own() -> None:
    spread = spread_of_repetitions([[repetition(a) for a in pair] for pair in ((2.0, 2.0), (5.0, 5.0))])
    assert spread is not None
    assert spread.relative == 0
    assert spread.freedom == 2


def test_two_repetitions_alone_say_nothing_nor_do_runs_without_common_x() -> None:
    assert spread_of_repetitions([[repetition(2.0), repetition(2.1)]]) is None
    assert spread_of_repetitions([[repetition(2.0)], [repetition(3.0)], [repetition(4.0)]]) is None
    later = levels_of(GriddedCurve(np.arange(6000.0, 7000.0), np.full(1000, 2.0)))
    assert spread_of_repetitions([[repetition(2.0), repetition(2.0), later]]) is None
    assert len(levels_of(GriddedCurve(*Curve.empty())).center) == 0
