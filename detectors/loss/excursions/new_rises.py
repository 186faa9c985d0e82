"""Where other excursions may begin within one that is not back: at a level it settled at, or a new rise."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.loss.excursions.baseline import LossNoise
from holter.detectors.loss.excursions.excursion_points import RecoveryThresholds
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.types import FloatArray, IntArray


def find_settled(
    elapsed: IntArray,
    excess: FloatArray,
    detected: int,
    noise: LossNoise,
    thresholds: RecoveryThresholds,
    *,
    stop: int,
) -> tuple[int, int]:
    """Where a series that is not back stayed at one level for long enough to be monitored there.

    The result is the first point of that level and the point from which it is known; the number of points
    twice where there is none.
    """
    size = thresholds.level_points
    first = max(int(np.searchsorted(elapsed, thresholds.settled_steps)), detected + 2 * size)
    none = (len(excess), len(excess))
    total = np.concatenate(([0.0], np.cumsum(excess[:stop])))
    ends = np.arange(first, stop)
    later = (total[ends] - total[ends - size]) / size
    earlier = (total[ends - size] - total[ends - 2 * size]) / size
    flat = np.flatnonzero(later - earlier <= noise.sigma / np.sqrt(size))
    if not len(flat):
        return none
    end = int(ends[flat[0]])
    return end - 2 * size, end


def find_larger_rise(
    excess: FloatArray, known_from: int, noise: LossNoise, thresholds: RecoveryThresholds, *, stop: int
) -> tuple[int, int]:
    """Where a series that is not back yet jumps, from one point to the next, to twice all before or more.

    Its height is known from the point `known_from` on. The result is the point of the jump twice, since the
    level from before remains the reference; the number of points twice where there is none.
    """
    highest = np.maximum.accumulate(excess[: stop - 1])[known_from:]
    above = excess[known_from + 1 : stop] - highest
    jumps = above > np.maximum(thresholds.larger_rise * highest, thresholds.new_rise_sigmas * noise.sigma)
    hits = np.flatnonzero(jumps)
    rise = known_from + 1 + int(hits[0]) if len(hits) else len(excess)
    return rise, rise


def find_next_rise(
    excess: FloatArray, first: int, noise: LossNoise, thresholds: RecoveryThresholds, *, stop: int
) -> tuple[int, int]:
    """Where a series that is not back yet rises anew, by half of what it rose before.

    The result is the point from which its level is known, and the point of the rise; the number of points
    twice where there is none. The first excursion does not end by such a rise.
    """
    window = noise.thresholds.median_points
    none = (len(excess), len(excess))
    inside = excess[:stop]
    if len(inside) <= first + 2 * window:
        return none
    median = median_filter(inside, size=window, origin=window // 2, mode="nearest")[:-1]
    above = inside[1:] - median
    highest = np.maximum.accumulate(inside)[:-1]
    deviation = median_filter(np.abs(above), size=4 * window + 1, origin=2 * window, mode="nearest")
    spread = MAD_TO_SIGMA * deviation
    sigma = np.maximum(np.concatenate((spread[:1], spread[:-1])), noise.sigma)
    rises = (above > thresholds.new_rise_share * highest) & (above > thresholds.new_rise_sigmas * sigma)
    rises[: first + 2 * window] = False
    hits = np.flatnonzero(rises)
    if not len(hits):
        return none
    rise = int(hits[0]) + 1
    return rise - 2 * window, rise
