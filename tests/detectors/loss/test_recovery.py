"""When an excursion of a loss is over, settled or lasting: small curves whose answer follows by reasoning.

A curve is given in sigmas above the level before it, from its first point on, one point a step if nothing
else is stated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from holter.detectors.loss.excursions.baseline import BaselineThresholds, DampedFall, LossNoise
from holter.detectors.loss.excursions.excursion_points import ExcursionPoints, RecoveryThresholds
from holter.detectors.loss.excursions.noise_tails import NoiseReach
from holter.detectors.loss.excursions.recovery import Recovery, track_recovery, untracked_recovery
from holter.detectors.loss.excursions.rise_speed import half_peak_index, is_slow_rise
from tests.support.loss_curves import Floats

LIMITS = RecoveryThresholds(
    near_points=4,
    near_sigmas=0.5,
    level_errors=1.5,
    lone_errors=2.0,
    lone_points=2,
    reference_points=12,
    first_point_sigmas=3.0,
    far_steps=20,
    trend_steps=100,
    tolerance_sigmas=0.5,
    tolerance_height=0.02,
    tolerance_height_sigmas=1.5,
    tolerance_height_errors=5.0,
    level_sigmas=0.1,
    interrupting_sigmas=6.0,
    interrupting_share=0.5,
    smoothing_steps=10,
    spacing_points=8,
    half_height=0.5,
    settled_steps=200,
    settled_points=16,
    young_share=0.5,
    lull_points=20,
    flat_share=0.8,
    flat_share_of_half=0.75,
    flat_share_of_eighth=0.5,
    unlearned_points=64,
    unlearned_wait=4.0,
    lasting_progress=0.25,
    lasting_progress_of_drift=0.1,
    at_once_share=0.8,
    overshoot=1.5,
    lasting_growth=1.25,
    growth_parts=4,
    growth_in_one_part=0.6,
    flat_growth=1.25,
    level_points=16,
    new_rise_sigmas=8.0,
    new_rise_share=0.5,
    larger_rise=1.0,
    slow_rise_steps=30,
    slow_rise_points=3,
    drift_points=32,
    chunk_points=(8, 32),
)
"""Fewer points and rounder numbers than in use, so that curves are short."""
STRICT = {"thresholds": replace(LIMITS, tolerance_height_errors=2.0)}
"""What noise could make of a height, and no more, counts as back."""
NOISE = LossNoise(sigma=1.0, upper=1.96, tail=1.3, thresholds=BaselineThresholds(median_points=5))

Part = tuple[float, int]
"""A height, and for how many points."""


def course(*parts: Part) -> Floats:
    return np.concatenate([np.full(points, float(height)) for height, points in parts])


def excursion(values: Floats, *, spacing: int = 1, **fields: Any) -> ExcursionPoints:
    points = ExcursionPoints(
        step=700 + spacing * np.arange(len(values)),
        value=values,
        detected=0,
        width=1,
        baseline=0.0,
        fall=DampedFall(),
        noise=NOISE,
        thresholds=LIMITS,
    )
    return replace(points, **fields)


def recovery(*parts: Part, **fields: Any) -> Recovery:
    return track_recovery(excursion(course(*parts), **fields))


HIGH = (20.0, 10)
"""The excursion before most of the returns."""


@pytest.mark.parametrize(
    ("sentence", "parts", "fields", "back", "confirmed"),
    [
        ("it is back at its first low point, certain 20 steps later", [HIGH, (0, 30)], {}, 10, 30),
        ("not before the point after these 20 steps is known", [HIGH, (0, 20)], {}, None, None),
        ("but with that one", [HIGH, (0, 21)], {}, 10, 30),
        ("a point every 4 steps: five points are 20 steps", [HIGH, (0, 30)], {"spacing": 4}, 10, 15),
        ("a point every 8 steps: at least four are needed", [HIGH, (0, 30)], {"spacing": 8}, 10, 14),
        (
            "and as many as it was detected by",
            [HIGH, (0, 30)],
            {"spacing": 8, "detected": 9, "width": 7},
            10,
            17,
        ),
        ("the next four points may be 0.75 high on average", [HIGH, (0.75, 4), (0, 40)], {}, 10, 30),
        ("and no higher: the same without the first of them", [HIGH, (0.76, 4), (0, 40)], {}, 11, 31),
        ("the first point may be 3.5 high", [HIGH, (3.5, 1), (-1, 3), (0, 40)], {}, 10, 30),
        ("and no higher", [HIGH, (3.51, 1), (-1, 3), (0, 40)], {}, 11, 31),
        ("the 20 steps may be 0.5 - 1 / 20**0.5 high", [(10, 10), (0, 4), (0.345, 16), (0, 40)], {}, 10, 30),
        ("and no higher", [(10, 10), (0, 4), (0.35, 16), (0, 40)], {}, 15, 35),
        ("a level that stays 0.27 high is back", [(10, 10), (0.27, 60)], {}, 10, 30),
        ("2 % of a height of 60 are 1.2", [(60, 10), (1.19, 60)], {}, 10, 30),
        ("and 1.21 is more", [(60, 10), (1.21, 60)], {}, None, None),
        ("2 % of a height of 200 count as 1.5", [(200, 10), (1.5, 60)], {}, 10, 30),
        ("and no more", [(200, 10), (1.51, 60)], {}, None, None),
        ("two errors of the mean of 20 points are 0.73", [(200, 10), (0.73, 60)], STRICT, 10, 30),
        ("more is no noise, however high the peak was", [(200, 10), (0.74, 60)], STRICT, None, None),
        ("a share below that counts in full", [(30, 10), (0.59, 60)], STRICT, 10, 30),
        ("the highest point counts", [(20, 1), (60, 1), (20, 8), (1.19, 60)], {}, 10, 30),
        (
            "also one before the detection",
            [(20, 1), (60, 1), (20, 8), (1.19, 60)],
            {"detected": 5},
            10,
            30,
        ),
        ("two points that stood out prove no level: 1.2 is back", [(20, 2), (1.2, 60)], {}, 2, 22),
        ("1.24 is not", [(20, 2), (1.24, 60)], {}, None, None),
        ("after three points 1.2 is not back", [(20, 3), (1.2, 60)], {}, None, None),
        ("nor after one that a mean detected", [(20, 1), (1.2, 60)], {"width": 4}, None, None),
        ("after one point the next four may be 1.65 high", [(20, 1), (1.65, 4), (0, 60)], {}, 1, 21),
        ("and not 1.66", [(20, 1), (1.66, 4), (0, 60)], {}, 2, 22),
        ("the trend is unknown after 100 steps: 0.64 is back", [(20, 100), (0.64, 60)], {}, 100, 120),
        ("0.66 is not", [(20, 100), (0.66, 90)], {}, None, None),
        ("what was too high for the trend is back then", [HIGH, (0.64, 200)], {}, 100, 120),
        ("the next four may be 0.96 high then", [(20, 100), (0.96, 4), (0, 60)], {}, 100, 120),
        ("and not 0.97", [(20, 100), (0.97, 4), (0, 60)], {}, 101, 121),
        ("the height no longer counts then", [(200, 100), (1.4, 90)], {}, None, None),
        (
            "means that wander twice as far are back from 1.19 on",
            [(20, 100), (0.9, 4), (1.22, 16), (0, 60)],
            {"noise": replace(NOISE, wander=((8, 2.0),))},
            100,
            120,
        ),
        (
            "means of four points do not wander by that",
            [(20, 100), (0.97, 60)],
            {"noise": replace(NOISE, wander=((8, 2.0),))},
            None,
            None,
        ),
    ],
)
def test_a_loss_is_back_when_its_next_points_and_steps_are(
    sentence: str, parts: list[Part], fields: dict[str, Any], back: int | None, confirmed: int | None
) -> None:
    result = recovery(*parts, **fields)
    assert (result.back, result.confirmed) == (back, confirmed)
    if confirmed is not None:
        assert (result.level_start, result.next_scan, result.last_seen) == (back, confirmed, confirmed)
        assert result.lull is None


def test_each_mean_of_a_return_has_the_error_of_its_own_number_of_points() -> None:
    """Ten points in 20 steps have an error of 0.43, twenty one of 0.37, of which 1.5 are allowed."""
    dense = np.concatenate((np.arange(100), 100 + 2 * np.arange(30)))
    values = course((20, 100), (0.7, 30))
    found = track_recovery(excursion(values, step=dense))
    assert (found.back, found.confirmed) == (100, 110)
    assert track_recovery(excursion(values)).back is None


@pytest.mark.parametrize(
    ("sentence", "height", "lull", "rise", "back", "confirmed"),
    [
        ("a rise to half of the height confirms the return before it", 20, 4, 10.0, 10, 14),
        ("less continues the excursion", 20, 4, 9.9, 15, 35),
        ("within the next four points there is no return before it", 20, 3, 10.0, 14, 34),
        ("the last point of the 20 steps still counts", 20, 19, 10.0, 10, 29),
        ("the next one is after the return", 20, 20, 10.0, 10, 30),
        ("noise of six sigma interrupts nothing", 12, 4, 6.0, 10, 30),
        ("more does", 12, 4, 6.1, 10, 14),
    ],
)
def test_another_rise_interrupts_a_return(
    sentence: str, height: float, lull: int, rise: float, back: int, confirmed: int
) -> None:
    result = recovery((height, 10), (0, lull), (rise, 1), (-0.05, 60))
    assert (result.back, result.confirmed, result.next_scan) == (back, confirmed, confirmed)
    at_once = recovery((height, 10), (0, lull), (rise, 1))
    assert (at_once.confirmed is not None) is (confirmed == 10 + lull)


def test_single_points_as_high_as_the_noise_reaches_interrupt_nothing() -> None:
    heavy = replace(NOISE, reach=NoiseReach(typical=9.0, rare=12.0))
    assert recovery((16, 10), (0, 4), (8.9, 1), (-0.3, 60), noise=heavy).confirmed == 30
    assert recovery((16, 10), (0, 4), (9.1, 1), (-0.3, 60), noise=heavy).confirmed == 14


def test_the_peak_is_the_highest_point_before_the_return() -> None:
    result = recovery((20, 4), (30, 1), (20, 5), (0, 4), (50, 1), (0, 60))
    assert (result.back, result.peak) == (10, 4)
    at_once = track_recovery(excursion(np.array([2.0, 3.0, -1.0, -1.0] + 60 * [0.0]), detected=1))
    assert (at_once.back, at_once.peak, at_once.half_peak) == (1, 0, 0)
    nothing = track_recovery(excursion(np.array([3.0, 3.2, -2.0, -2.0] + 60 * [0.0])))
    assert (nothing.back, nothing.peak, nothing.half_peak) == (0, 0, 0)
    assert recovery((20, 4), (30, 1), (20, 5)).peak == 4


@pytest.mark.parametrize(
    ("sentence", "parts", "fields", "scanned_from", "level_from"),
    [
        ("it settles after 200 steps, at the level of 2 * 16 points", [(20, 300)], {}, 200, 168),
        ("not before the point after these steps is known", [(20, 200)], {}, 200, 200),
        ("but with that one", [(20, 201)], {}, 200, 168),
        ("few points in so many steps: 32 after the detection", [(20, 60)], {"spacing": 100}, 32, 0),
        ("after a detection at point 5", [(20, 60)], {"spacing": 100, "detected": 5}, 37, 5),
        ("the second 16 points may be a quarter of a sigma higher", [(20, 190), (20.39, 90)], {}, 200, 168),
        ("and no more", [(20, 190), (20.41, 90)], {}, 213, 181),
        ("a lower level has settled, too", [(20, 190), (15, 90)], {}, 200, 168),
        ("more than twice the height is a larger excursion", [(20, 5), (40.1, 90)], {}, 5, 5),
        ("also a few points later", [(20, 9), (40.1, 90)], {}, 9, 9),
        ("the first of two begins first", [(20, 5), (41, 10), (90, 80)], {}, 5, 5),
        ("twice the height is none", [(20, 5), (40, 90)], {}, 95, 95),
        ("a point earlier it is the same", [(20, 4), (41, 90)], {}, 94, 94),
        ("counted from the detection", [(20, 8), (40.1, 90)], {"detected": 3}, 8, 8),
        ("a point earlier", [(20, 7), (40.1, 90)], {"detected": 3}, 97, 97),
        ("a larger excursion is 8 sigma higher", [(5, 5), (13.1, 90)], {}, 5, 5),
        ("at least", [(5, 5), (12.9, 90)], {}, 95, 95),
        ("than all before", [(20, 1), (10, 6), (30.1, 90)], {}, 97, 97),
        ("all before it count", [(20, 6), (35, 1), (45, 5)], {}, 12, 12),
        ("a rise by more than half begins a new one", [(20, 11), (30.1, 80)], {}, 11, 1),
        ("a rise by half does not", [(20, 11), (30, 80)], {}, 91, 91),
        ("the level before it needs 2 * 5 points", [(20, 10), (30.1, 80)], {}, 90, 90),
        ("after the detection", [(20, 13), (30.1, 80)], {"detected": 3}, 93, 93),
        ("which are there then", [(20, 14), (30.1, 80)], {"detected": 3}, 14, 4),
        ("it rises by 8 sigma at least", [(10, 11), (18.1, 80)], {}, 11, 1),
        ("and not by less", [(10, 11), (17.9, 80)], {}, 91, 91),
        ("half of the highest point counts", [(30, 1), (20, 20), (34.9, 80)], {}, 101, 101),
        ("more than that begins a new one", [(30, 1), (20, 20), (35.1, 80)], {}, 21, 11),
        ("it may have fallen before", [(60, 5), (10, 20), (41, 80)], {}, 25, 15),
    ],
)
def test_other_excursions_may_begin_within_one_that_lasts(
    sentence: str, parts: list[Part], fields: dict[str, Any], scanned_from: int, level_from: int
) -> None:
    result = recovery(*parts, **fields)
    assert result.back is None
    assert (result.next_scan, result.level_start) == (scanned_from, level_from)
    assert result.last_seen == sum(points for _, points in parts) - 1


def test_only_a_level_at_which_it_stayed_has_settled() -> None:
    assert recovery((20, 300)).settled
    assert not recovery((20, 11), (30.1, 300)).settled
    assert not recovery(HIGH, (0, 300)).settled


def test_the_noise_of_a_lasting_excursion_is_no_new_rise() -> None:
    noise = np.append(np.tile((2.0, -2.0), 20), np.zeros(20))
    assert track_recovery(excursion(course((20, 40), (34, 20)) + noise)).next_scan == 60
    assert recovery((20, 40), (34, 20)).next_scan == 40


@pytest.mark.parametrize(("quiet", "begins"), [(11, False), (12, True)])
def test_noise_is_that_of_most_of_the_latest_21_points(quiet: int, begins: bool) -> None:
    """The first quiet point still differs from the median of the five before it; of 21, eleven are most."""
    noise = np.append(np.tile((2.0, -2.0), 20), np.zeros(quiet + 20))
    points = excursion(course((20, 40 + quiet), (34, 20)) + noise)
    assert track_recovery(points).next_scan == (40 + quiet if begins else len(points.step))


def test_within_a_drift_only_a_rise_after_it_could_have_settled_is_a_new_one() -> None:
    def next_scan(rise: int, width: int) -> int:
        values = 20 + 0.25 * np.arange(260)
        values[rise] *= 1.7
        return track_recovery(excursion(values, detected=31, width=width)).next_scan

    assert [next_scan(150, width) for width in (31, 32)] == [150, 260]
    assert [next_scan(rise, 32) for rise in (210, 211)] == [260, 211]


@pytest.mark.parametrize(
    ("sentence", "parts", "fields", "lull"),
    [
        ("it is low so far", [HIGH, (0, 5)], {}, 10),
        ("it is high", [HIGH], {}, None),
        ("it was low and is higher again", [HIGH, (0, 5), (9, 1)], {}, None),
        ("two points may be 0.85 high", [HIGH, (0.85, 2)], {}, 10),
        ("and not 0.86", [HIGH, (0.86, 2)], {}, None),
        ("from four points on 0.75", [HIGH, (0.75, 6)], {}, 10),
        ("and not 0.76", [HIGH, (0.76, 6)], {}, None),
        ("one of many may be 3.5 high", [HIGH, (0, 9), (3.5, 1)], {}, 10),
        ("a higher one ends the lull", [HIGH, (0, 9), (3.6, 1)], {}, None),
        ("and another begins after it", [HIGH, (0, 9), (3.6, 1), (0, 2)], {}, 20),
        ("only the points after the detection count", [HIGH, (0, 6)], {"detected": 12}, 13),
        ("of which there are none yet", [HIGH, (0, 6)], {"detected": 15}, None),
        ("the tolerance is that of the trend, also later", [(20, 100), (0.78, 3)], {}, 100),
        ("and no larger", [(20, 100), (0.79, 3)], {}, None),
        (
            "of a longer one the latest 20 points are known",
            [HIGH, (0, 30)],
            {"thresholds": replace(LIMITS, far_steps=1000)},
            20,
        ),
    ],
)
def test_a_lull_is_a_return_that_is_not_certain_yet(
    sentence: str, parts: list[Part], fields: dict[str, Any], lull: int | None
) -> None:
    result = recovery(*parts, **fields)
    assert result.confirmed is None
    assert result.lull == lull


LONG = 201
"""Points after which it is first examined whether an excursion lasts."""


def quarters(second: float, third: float, fourth: float) -> list[Part]:
    """201 points whose last quarters, of 50, 50 and 51 points, have these heights."""
    return [(20, 50), (second, 50), (third, 50), (fourth, 51)]


@pytest.mark.parametrize(
    ("sentence", "parts", "progress", "lasts"),
    [
        ("it undoes more than a quarter of the progress", [(20, LONG)], 79, True),
        ("it undoes a quarter", [(20, LONG)], 80, False),
        ("a drift undoes more than a tenth", [(10, 20), (20, LONG - 20)], 79, True),
        ("the last quarter has 0.8 times the height of the third", quarters(20, 20, 16.1), 40, True),
        ("or just so", quarters(20, 20, 16), 40, True),
        ("it has less", quarters(20, 20, 15.9), 40, False),
        ("a higher point before the third", [(20, 99), (60, 1), (20, 50), (16.1, 51)], 40, True),
        ("a higher point in the third", [(20, 100), (60, 1), (20, 49), (16.1, 51)], 40, False),
        ("it has 0.75 times the height of the second", quarters(20, 17, 15.1), 40, True),
        ("or just so", quarters(20, 17, 15), 40, True),
        ("it has less", quarters(20, 17, 14.9), 40, False),
        ("its last eighth is half as high as the one before", [(20, 150), (36, 26), (18, 25)], 40, True),
        ("it is lower", [(20, 150), (38, 26), (18, 25)], 40, False),
        ("another rise is not as old as an eighth", [(20, 50), (4, 130), (90, 21)], 40, False),
        ("another rise is older", [(20, 50), (4, 100), (90, 51)], 40, True),
        ("its first points were 1.5 times as high", [(30, 1), (20, LONG - 1)], 1000, True),
        ("they were not so high", [(29.9, 1), (20, LONG - 1)], 1000, False),
        ("the fourth of them was", [(20, 3), (30, 1), (20, LONG - 4)], 1000, True),
        ("a later one was", [(20, 4), (30, 1), (20, LONG - 5)], 1000, False),
        ("a later point is as high", [(30, 1), (20, 148), (20.1, 1), (20, 51)], 1000, False),
        ("it grows by a quarter, steadily", [(20, 126), (24, 25), (26, 25), (30, 25)], 930, True),
        ("it undoes less than 0.03 of the progress", [(20, 126), (24, 25), (26, 25), (30, 25)], 940, False),
        ("it grows by less", [(20, 126), (22, 25), (24, 25), (26, 25)], 800, False),
        ("0.6 of its growth are one step", [(20, 151), (26, 25), (30, 25)], 900, False),
        ("the step is smaller", [(20, 151), (25.9, 25), (30, 25)], 900, True),
        ("stages in sequence of less than a quarter each", [(20, 67), (40, 67), (60, 67)], 81, False),
        ("one of them undoes more", [(20, 67), (40, 67), (60, 67)], 79, True),
        ("they follow one another at once", [(20, 30), (40, 30), (60, 141)], 81, True),
        ("nothing was learned: it rises over some points", [(15.9, 1), (20, LONG - 1)], 1, True),
        ("nothing was learned: it begins at once", [(16, 1), (20, LONG - 1)], 1, False),
        ("something was learned", [(16, 1), (20, LONG - 1)], 1.01, True),
    ],
)
def test_an_excursion_lasts_if_it_neither_decays_nor_is_a_mere_step(
    sentence: str, parts: list[Part], progress: float, lasts: bool
) -> None:
    assert sum(points for _, points in parts) == LONG
    assert recovery(*parts, progress=progress).lasting_at == (200 if lasts else None)


@pytest.mark.parametrize(("last", "at"), [(17.7, 17), (17.5, None)])
def test_of_18_points_the_last_five_are_compared_with_the_five_before(last: float, at: int | None) -> None:
    parts = [(20, 8), (30, 1), (20, 4), (last, 5)]
    assert recovery(*parts, progress=40, spacing=100, detected=17).lasting_at == at


@pytest.mark.parametrize(
    ("known", "progress", "at"), [(63, 1, 252), (63, 1.01, 200), (64, 1, 200), (None, 1, 200), (10, 1, 200)]
)
def test_a_young_run_that_has_learned_nothing_waits_for_four_times_the_points_before(
    known: int | None, progress: float, at: int
) -> None:
    assert recovery((10, 1), (20, 300), progress=progress, known=known).lasting_at == at


def test_growth_by_exactly_a_quarter_lasts() -> None:
    """The third quarter, points 100 to 149, is 20 high on average, the last one, to 200, is 25."""
    at = np.arange(LONG)
    growing = np.where(at < 150, 20 + (at - 124.5) / 8, 25 + (at - 175) / 8)
    growing[:100] = 20.0
    assert track_recovery(excursion(growing, progress=800)).lasting_at == 200
    growing[150:] -= 1 / 64
    assert track_recovery(excursion(growing, progress=800)).lasting_at is None


def test_a_drift_that_undoes_a_tenth_of_the_progress_lasts() -> None:
    slow = np.minimum(0.2 * np.arange(LONG), 20)
    at_once = np.full(LONG, 20.0)
    for values, progress, lasts in ((slow, 199, True), (slow, 200, False), (at_once, 199, False)):
        found = track_recovery(excursion(values, progress=progress)).lasting_at
        assert found == (200 if lasts else None)


@pytest.mark.parametrize(
    ("points", "spacing", "detected", "at"),
    [
        (200, 1, 0, None),
        (201, 1, 0, 200),
        (16, 100, 0, None),
        (17, 100, 0, 16),
        (31, 100, 30, 30),
    ],
)
def test_it_is_examined_after_200_steps_16_points_and_its_detection(
    points: int, spacing: int, detected: int, at: int | None
) -> None:
    found = recovery((20, points), progress=40, spacing=spacing, detected=detected)
    assert found.lasting_at == at


def test_one_that_decayed_is_examined_again_after_a_quarter_more_points() -> None:
    """It fell at point 160: at points 200 and 251 the third quarter is far higher than the last, at 314, 393
    and 492 the second is. The next of these points is 616."""
    values = course((100, 160), (20, 540))
    assert track_recovery(excursion(values, progress=40)).lasting_at == 616
    assert track_recovery(excursion(values[:616], progress=40)).lasting_at is None
    assert track_recovery(excursion(values[:617], progress=40)).lasting_at == 616


def test_what_is_back_or_lower_than_before_does_not_last() -> None:
    assert recovery((20, 100), (0, 200), progress=10).lasting_at is None
    patient = replace(LIMITS, far_steps=1000)
    assert recovery((20, 50), (-10, 100), (-0.5, 60), progress=10, thresholds=patient).lasting_at is None
    assert recovery((20, 220), (0, 200), progress=10).lasting_at == 200


@pytest.mark.parametrize(
    ("half_peak", "spacing", "slow"), [(29, 1, False), (30, 1, True), (2, 100, False), (3, 100, True)]
)
def test_a_slow_rise_takes_30_steps_and_3_points(half_peak: int, spacing: int, slow: bool) -> None:
    step = 700 + spacing * np.arange(50)
    assert is_slow_rise(step, LIMITS, half_peak=half_peak) is slow


@pytest.mark.parametrize(
    ("sentence", "spacing", "points", "expected"),
    [
        ("the mean of 10 steps from point 46 on is half of 20", 1, 201, 46),
        ("2 points are 10 steps: from point 50 on", 5, 201, 50),
        ("fewer steps than from point to point: the point itself", 100, 201, 50),
        ("fewer points than 10 steps: all of them", 1, 8, 0),
        ("a single point", 1, 1, 0),
        ("points that share a step", 0, 201, 46),
    ],
)
def test_a_rise_is_timed_at_half_of_its_height(
    sentence: str, spacing: int, points: int, expected: int
) -> None:
    ramp = np.minimum(0.2 * np.arange(points), 20)
    assert half_peak_index(spacing * np.arange(points), ramp, LIMITS) == expected
    tracked = track_recovery(excursion(ramp, spacing=spacing, detected=min(60, points - 1)))
    assert tracked.half_peak == expected


def test_the_spacing_of_the_first_points_decides_how_many_are_averaged() -> None:
    ramp = np.minimum(0.2 * np.arange(201), 20)
    step = np.cumsum([1] * 9 + [100] * 192)
    assert half_peak_index(step, ramp, LIMITS) == 46
    assert half_peak_index(np.cumsum([1] * 4 + [100] * 197), ramp, LIMITS) == 50


def test_the_reference_is_the_trend_for_100_steps_and_four_points() -> None:
    fall = DampedFall(slope=-0.1, span=40.0)
    level = 50 + fall.after(np.arange(0, 140, 20))
    points = excursion(level, spacing=20, baseline=50.0, fall=fall)
    excess, allowed = points.excess()
    assert excess[:5] == pytest.approx(np.zeros(5), abs=1e-12)
    assert excess[5:].tolist() == (level[5:] - 50).tolist()
    assert allowed.tolist() == [0.5] * 5 + [0.1] * 2
    for first in (3, 6):
        rest = points.excess(first)
        assert [each.tolist() for each in rest] == [excess[first:].tolist(), allowed[first:].tolist()]
    sparse = excursion(50 + fall.after(1000 * np.arange(6)), spacing=1000, baseline=50.0, fall=fall)
    assert sparse.excess()[0] == pytest.approx([0, 0, 0, 0, -4, -4])
    assert sparse.excess(3)[0] == pytest.approx([0, -4, -4])


@pytest.mark.parametrize(("known", "steps"), [(0, 1), (2, 1), (3, 1), (4, 2), (39, 19), (40, 20), (900, 20)])
def test_a_young_run_is_back_after_half_as_many_steps_as_it_had_points(known: int, steps: int) -> None:
    assert LIMITS.after(known) == replace(LIMITS, far_steps=steps)


def test_an_excursion_that_is_not_followed_lasts_and_nothing_begins_within_it() -> None:
    found = untracked_recovery(7)
    assert (found.back, found.confirmed, found.lull, found.lasting_at) == (None, None, None, None)
    assert (found.peak, found.half_peak) == (0, 0)
    assert (found.last_seen, found.next_scan, found.level_start) == (6, 7, 7)
