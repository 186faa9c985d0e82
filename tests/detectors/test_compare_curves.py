"""Differences of curves: what is reported, the laws that intervals obey, and what they rest on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.detectors.compare.course import Course, check_course, check_number, points_of_check
from holter.detectors.compare.grid import grid_means
from holter.detectors.compare.significance import (
    Curve,
    CurveDifference,
    SeedSpread,
    block_bootstrap_variance,
    block_length,
    compare_curves,
)
from holter.types import FloatArray

STEPS = np.arange(2000, dtype=np.float64)
TREND = 2 + 6 * (STEPS + 20.0) ** -0.35


def noise(seed: int, sigma: float = 0.05) -> FloatArray:
    """White noise of one run."""
    return np.random.default_rng(seed).normal(0, sigma, len(STEPS))


def compared(run: FloatArray, baseline: FloatArray, x: FloatArray = STEPS) -> CurveDifference:
    """The comparison of two curves over the same x."""
    result = compare_curves(Curve(x, run), Curve(x, baseline))
    assert result is not None
    return result


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats()), min_size=1, max_size=60),
    st.integers(1, 20),
)
def test_means_of_intervals_are_those_of_their_finite_values(
    points: list[tuple[float, float]], intervals: int
) -> None:
    x, value = (np.array(column) for column in zip(*sorted(points, key=lambda point: point[0]), strict=True))
    edges = np.linspace(10, 90, intervals + 1)
    means = grid_means(edges, x, value)
    for number, (low, high) in enumerate(pairwise(edges)):
        inside = value[(x >= low) & (x < high) & np.isfinite(value)]
        assert means.points[number] == len(inside)
        if len(inside):
            with np.errstate(over="ignore"):
                expected = np.sum(inside) / len(inside)
            np.testing.assert_allclose(means.mean[number], expected, rtol=1e-9, atol=1e-300)
        else:
            assert np.isnan(means.mean[number])


def test_equal_runs_with_other_noise_do_not_differ() -> None:
    signs = [compared(TREND + noise(seed), TREND + noise(seed + 1000)).sign for seed in range(60)]
    assert sum(sign != 0 for sign in signs) <= 3


def test_a_difference_of_a_tenth_is_reported_with_its_size_and_where_it_begins() -> None:
    run = np.where(STEPS >= 1000, 1.1, 1.0) * TREND + noise(1)
    result = compared(run, TREND + noise(2))
    assert result.sign == 1
    assert result.relative(result.difference) == pytest.approx(0.1, abs=0.01)
    assert result.since_x is not None
    assert result.since_x == pytest.approx(1000, abs=150)


def test_the_interval_is_wider_where_noise_is_correlated() -> None:
    slow = np.convolve(noise(3, 0.3), np.full(40, 1 / 40), "same")
    white = noise(3, float(np.std(slow)))
    of_slow = compared(TREND + slow, TREND)
    of_white = compared(TREND + white, TREND)
    assert of_slow.noise_error > 3 * of_white.noise_error
    assert of_slow.block_points > of_white.block_points


def test_batches_that_both_saw_cancel() -> None:
    batches = noise(4)
    paired = compared(TREND + batches + noise(5, 0.002), TREND + batches + noise(6, 0.002))
    unpaired = compared(TREND + noise(4), TREND + noise(7))
    assert paired.paired
    assert paired.correlation is not None
    assert paired.correlation > 0.9
    assert not unpaired.paired
    assert paired.noise_error < unpaired.noise_error / 5


def test_runs_from_the_same_weights_show_effects_that_seeds_would_hide() -> None:
    batches = noise(8)
    baseline = TREND + batches
    run = np.where(STEPS > 0, 1.003, 1.0) * TREND + batches
    result = compared(run, baseline)
    assert result.same_start
    assert result.sign == 1
    other_start = compared(run + np.where(STEPS == 0, 0.1, 0.0), baseline)
    assert not other_start.same_start
    assert other_start.sign == 0


def test_what_would_show_is_stated_where_nothing_does() -> None:
    result = compared(TREND + noise(9, 0.5), TREND + noise(10, 0.5))
    assert result.sign == 0
    assert result.detectable is not None
    assert result.detectable > 0.01
    assert result.needed_x is None  # seeds may differ by more than one percent
    measured = compare_curves(
        Curve(STEPS, TREND + noise(9, 0.5)),
        Curve(STEPS, TREND + noise(10, 0.5)),
        spread=SeedSpread(relative=0.0005, freedom=200),
    )
    assert measured is not None
    assert measured.needed_x is not None
    assert measured.needed_x > STEPS[-1]


def test_curves_without_common_x_are_not_compared() -> None:
    assert compare_curves(Curve(STEPS, TREND), Curve(STEPS + 5000, TREND)) is None
    assert compare_curves(Curve.empty(), Curve(STEPS, TREND)) is None
    assert compare_curves(Curve(STEPS[:8], TREND[:8]), Curve(STEPS, TREND)) is None


def test_an_equal_curve_has_no_difference_and_no_interval_but_that_of_repetitions() -> None:
    result = compared(TREND, TREND)
    assert result.difference == 0
    assert result.sign == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-0.2, 0.2))
def test_exchanging_the_runs_exchanges_the_sign(seed: int, effect: float) -> None:
    run, baseline = (1 + effect) * TREND + noise(seed), TREND + noise(seed + 1)
    forward, backward = compared(run, baseline), compared(baseline, run)
    assert forward.difference == pytest.approx(-backward.difference, rel=1e-6, abs=1e-12)
    assert forward.noise_error == pytest.approx(backward.noise_error, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
def test_scaling_both_curves_scales_the_interval(seed: int, scale: float) -> None:
    run, baseline = 1.05 * TREND + noise(seed), TREND + noise(seed + 1)
    plain, scaled = compared(run, baseline), compared(scale * run, scale * baseline)
    for name in ("difference", "low", "high", "noise_error"):
        assert getattr(scaled, name) == pytest.approx(
            scale * getattr(plain, name), rel=1e-6, abs=1e-9 * scale
        )
    assert plain.sign == scaled.sign


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 10**6))
def test_shifting_x_changes_positions_alone(seed: int, shift: int) -> None:
    run, baseline = 1.05 * TREND + noise(seed), TREND + noise(seed + 1)
    plain, shifted = compared(run, baseline), compared(run, baseline, STEPS + shift)
    assert shifted.from_x == pytest.approx(plain.from_x + shift, rel=1e-9)
    assert shifted.difference == pytest.approx(plain.difference, rel=0.02, abs=1e-3)


def test_blocks_are_longer_for_slower_noise_and_the_bootstrap_agrees_with_theory() -> None:
    white = np.random.default_rng(0).normal(0, 1, 4000)
    slow = np.empty(4000)
    slow[0] = white[0]
    for index in range(1, 4000):
        slow[index] = 0.9 * slow[index - 1] + white[index]
    assert block_length(white) <= 3
    block = block_length(slow)
    assert 20 < block < 250
    # the long-run variance of an AR(1) is sigma^2 / (1 - phi)^2
    variance = block_bootstrap_variance(slow - slow.mean(), block)
    assert variance == pytest.approx(100 / 4000, rel=0.4)


def test_the_course_at_a_step_uses_no_later_point() -> None:
    baseline = Curve(STEPS, TREND + noise(11))
    run = TREND * 1.1 + noise(12)
    for points in (300, 700, 1500):
        number = check_number(points)
        prefix = check_course(Curve(STEPS[:points], run[:points]), [baseline], number)
        later = check_course(
            Curve(STEPS, np.where(points > STEPS, run, np.inf * 0 + 99.0)), [baseline], number
        )
        assert points_of_check(number) <= points
        assert prefix.course is later.course is Course.WORSE
        assert prefix.difference is not None
        assert later.difference is not None
        assert prefix.difference.difference == later.difference.difference


def test_a_run_is_worse_only_if_it_is_worse_than_every_reference() -> None:
    run = Curve(STEPS, TREND * 1.1 + noise(13))
    good, bad = Curve(STEPS, TREND + noise(14)), Curve(STEPS, TREND * 1.1 + noise(15))
    number = check_number(len(STEPS))
    assert check_course(run, [good], number).course is Course.WORSE
    assert check_course(run, [good, bad], number).course is Course.ON_COURSE
    assert check_course(good, [run, bad], number).course is Course.BETTER
    assert check_course(run, [Curve.empty()], number).course is Course.UNKNOWN
