"""The strength of evidence that a series has left its level upwards: an alarm from 1 on.

Three statistics are computed: sums of the surprise of a few points, means of many points, and single points.
Each yields the number of points it rests on and the strength at every new value [n].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv

from holter.detectors.loss.excursions.baseline import TINY, LossHistory, LossNoise
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray

Evidence = tuple[int, FloatArray]
"""A number of points and the strength of evidence they give, at every new value [n]."""

OUTLIER = -1
"""In place of a number of points: a single point that the shape of the noise explains."""


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds(Thresholds):
    """How much evidence makes an excursion of a loss."""

    sum_points: tuple[int, ...] = (1, 2, 3, 5)
    """Points whose surprises are added up."""
    sum_chance: float = 1e-8
    """Probability that a sum of surprises (Gamma distributed) exceeds its limit by chance."""
    mean_windows: tuple[tuple[int, int], ...] = (
        (8, 0),
        (16, 0),
        (32, 0),
        (64, 0),
        (64, 64),
        (128, 0),
        (128, 128),
        (256, 0),
        (256, 256),
        (512, 512),
        (512, 1536),
    )
    """Points whose mean is compared with the mean before them, and points left out between the two: a slow
    rise would raise its own reference."""
    mean_errors: float = 5.5
    """Standard errors by which a mean must rise: a chance of 1 in 5e7 where the noise is normal."""
    mean_reference_points: int = 64
    """Points of the reference of a mean, at least; otherwise twice as many as in the mean."""
    lone_point_sigmas: float = 8.0
    """Sigmas by which a single point is an event whatever the tail of the noise predicts."""
    lone_point_share: float = 0.2
    """Share of the level by which a single point is an event whatever the tail of the noise predicts."""
    lone_point_young_points: int = 128
    """Points known for which `lone_point_sigmas` is doubled: the noise of a young series is uncertain."""
    lone_point_within_reach: float = 0.7
    """Share of the evidence required that a point within the reach of the noise may give at most."""
    reach_young_points: int = 300
    """Points known for which the reach of the noise is doubled: few points show little of a tail."""
    unrest_points: int = 32
    """Points over which the current size of the noise is compared with its usual size."""
    unrest_from: float = 1.25
    """Times its usual size that recent noise below the level may have before the noise counts as larger."""
    unrest_slope: float = 3.0
    """How steeply the correction grows beyond `unrest_from`, until it equals the measured size."""
    clip_sigmas: float = 4.0
    """Sigmas. A point counts at most this much in a mean or in the measurement of unrest."""
    least_share: float = 0.02
    """Share of the level that a mean of many points must rise by to be worth reporting."""
    least_share_single: float = 0.08
    """Share of the level that a single point must rise by in addition, divided by the root of the points."""
    zero_crossing_sigmas: float = 2.0
    """Sigmas of a point that means of a loss around zero must rise by: less is invisible in its noise."""
    zero_crossing_share: float = 0.05
    """Share of values of each sign from which on a loss counts as being around zero."""
    strongest: float = 1e6
    """Strength and surprise are limited to this, so that they stay finite."""


def least_rise(level: FloatArray, points: int, thresholds: AlarmThresholds) -> FloatArray:
    """The least rise over this many points that is worth reporting: 10 % for one, 2 % for hundreds."""
    share: float = thresholds.least_share + thresholds.least_share_single / float(np.sqrt(points))
    return share * np.abs(level) + TINY


@lru_cache(maxsize=256)
def _surprise_limit(points: int, chance: float) -> float:
    """The sum of -ln p of this many points that chance exceeds this rarely (the sum is Gamma distributed)."""
    return float(gammainccinv(points, chance))


def _crosses_zero(history: LossHistory, thresholds: AlarmThresholds) -> bool:
    """Whether the values have both signs, neither of them as an exception."""
    below = float(np.mean(history.value < 0)) if len(history.value) else 0.0
    return thresholds.zero_crossing_share < below < 1 - thresholds.zero_crossing_share


def surprise_sums(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> Iterator[Evidence]:
    """Evidence of a few points: how surprising they are together."""
    excess = values - medians
    residual = np.concatenate((history.residual[-thresholds.sum_points[-1] :], excess))
    unrest = _unrest(history, excess, noise, len(residual), thresholds)
    surprise = np.minimum(noise.surprise(residual / unrest), thresholds.strongest)
    within_reach = residual < _reach(history, noise, noise.reach.rare, thresholds)
    total = np.concatenate(([0.0], np.cumsum(residual)))
    known = len(residual) - len(values)
    single_limit = _surprise_limit(1, thresholds.sum_chance)
    for points in (points for points in thresholds.sum_points if points <= known):
        ends = np.arange(known + 1, len(residual) + 1)
        rise = (total[ends] - total[ends - points]) / points
        # correlated points repeat the same surprise
        limit = (1 - noise.correlation) * _surprise_limit(
            points, thresholds.sum_chance
        ) + noise.correlation * points * single_limit
        # a single point that noise may produce is not sufficient
        most = thresholds.lone_point_within_reach * limit
        counted = np.where(within_reach, np.minimum(surprise, most), surprise)
        summed = np.concatenate(([0.0], np.cumsum(counted)))
        strength = (summed[ends] - summed[ends - points]) / limit
        yield points, np.minimum(strength, rise / least_rise(medians, points, thresholds))


def single_points(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> Iterator[Evidence]:
    """Evidence of one point.

    A batch a fifth above the level and many sigmas out is an event whatever the tail above predicts, unless
    the shape of the noise itself explains it.
    """
    excess = values - medians
    # more sigmas while few points are known
    sigmas = (
        thresholds.lone_point_sigmas
        * noise.sigma
        * (1 + thresholds.lone_point_young_points / max(history.count, 1))
    )
    strength = np.minimum(excess / (thresholds.lone_point_share * np.abs(medians) + TINY), excess / sigmas)
    typical, rare = (_reach(history, noise, reach, thresholds) for reach in noise.reach)
    yield 1, np.minimum(strength, excess / (rare + TINY))
    yield OUTLIER, np.minimum(strength, excess / (typical + TINY))


def _reach(history: LossHistory, noise: LossNoise, sigmas: float, thresholds: AlarmThresholds) -> float:
    return sigmas * noise.sigma * (1 + thresholds.reach_young_points / max(history.count, 1))


def _unrest(
    history: LossHistory, excess: FloatArray, noise: LossNoise, points: int, thresholds: AlarmThresholds
) -> FloatArray:
    """The current size of the noise over its usual size (>= 1), before each of the last `points` points.

    Only values below the level count, since an event would be above it.
    """
    recent = thresholds.unrest_points
    before = history.residual[-recent - points + len(excess) :]
    limit = thresholds.clip_sigmas
    score = np.clip(np.concatenate((before, excess)) / noise.sigma, -limit, limit)
    missing = max(points + recent - len(score), 0)
    score = np.concatenate((np.zeros(missing), score))
    total = np.concatenate(([0.0], np.cumsum(score)))
    below = np.concatenate(([0.0], np.cumsum(np.minimum(score, 0.0) ** 2)))
    mean = (total[recent:-1] - total[: -recent - 1]) / recent
    square = (below[recent:-1] - below[: -recent - 1]) / recent
    # a falling level puts more points below it
    size = np.sqrt(np.maximum(2 * square - 3 * np.minimum(mean, 0.0) ** 2, 0.0))
    corrected = np.minimum(size, 1 + thresholds.unrest_slope * (size - thresholds.unrest_from))
    unrest: FloatArray = np.maximum(corrected, 1.0)
    return unrest


def window_means(
    history: LossHistory,
    values: FloatArray,
    medians: FloatArray,
    noise: LossNoise,
    thresholds: AlarmThresholds,
) -> Iterator[Evidence]:
    """Evidence of many points: how far their mean is above the mean before."""
    least_reference = thresholds.mean_reference_points
    farthest = max(2 * max(least_reference, points) + points + gap for points, gap in thresholds.mean_windows)
    limit = thresholds.clip_sigmas * noise.sigma
    clipped = medians + np.clip(values - medians, -limit, limit)
    both = np.concatenate((history.clipped[-farthest:], clipped))
    total = np.concatenate(([0.0], np.cumsum(both)))
    ends = np.arange(len(both) - len(values) + 1, len(both) + 1)
    unrest = _unrest(history, values - medians, noise, len(values), thresholds)
    # a loss around zero has no level that a rise could be a share of
    least = thresholds.zero_crossing_sigmas * noise.sigma if _crosses_zero(history, thresholds) else 0.0
    for points, gap in thresholds.mean_windows:
        reference_end = ends - points - gap
        before = np.minimum(max(least_reference, 2 * points), reference_end)
        enough = before >= max(history.thresholds.fewest_points, points)
        if not enough.any():
            break
        now = (total[ends] - total[ends - points]) / points
        reference = total[reference_end] - total[np.maximum(reference_end - before, 0)]
        earlier = reference / np.maximum(before, 1)
        error = noise.error(points) * np.sqrt(1 / points + 1 / np.maximum(before, 1))
        if points <= thresholds.unrest_points:
            error = error * unrest
        rise = now - earlier
        worthwhile = np.maximum(least_rise(medians, points, thresholds), least)
        strength = np.minimum(rise / (thresholds.mean_errors * error), rise / worthwhile)
        yield points, np.where(enough, strength, 0.0)
