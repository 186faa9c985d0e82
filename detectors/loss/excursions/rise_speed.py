"""How fast an excursion reached its height: a spike reaches half of it sooner than a drift."""

from __future__ import annotations

import numpy as np

from holter.detectors.loss.excursions.excursion_points import RecoveryThresholds
from holter.detectors.robust_statistics import median
from holter.types import FloatArray, IntArray


def is_slow_rise(step: IntArray, thresholds: RecoveryThresholds, *, half_peak: int) -> bool:
    """Whether a rise that reached half of its height at point `half_peak` took as long as a drift does."""
    elapsed = int(step[half_peak] - step[0])
    return half_peak >= thresholds.slow_rise_points and elapsed >= thresholds.slow_rise_steps


def is_still_rising(excess: FloatArray, thresholds: RecoveryThresholds) -> bool:
    """Whether a rise [n >= 1], of which all points are given, is highest at its end and reached half of its
    height late: a drift, however few steps it has taken. Longer ones are known by their steps."""
    peak, last = int(np.argmax(excess)), len(excess) - 1
    late = thresholds.late_share * last
    half_peak = int(np.argmax(excess >= thresholds.half_height * excess[peak]))
    return half_peak >= max(thresholds.late_points, late) and peak >= last - late / 2


def half_peak_index(step: IntArray, excess: FloatArray, thresholds: RecoveryThresholds) -> int:
    """The point at which the rise first reached half of its peak, both as means over some steps."""
    smooth = moving_mean(excess, smoothing_points(step, thresholds))
    return int(np.argmax(smooth >= thresholds.half_height * smooth.max()))


def smoothing_points(step: IntArray, thresholds: RecoveryThresholds) -> int:
    """The number of points in `smoothing_steps`."""
    spacing = 1.0
    if len(step) > 1:
        spacing = max(median(np.diff(step[: thresholds.spacing_points])), 1.0)
    return int(np.clip(round(thresholds.smoothing_steps / spacing), 1, len(step)))


def moving_mean(excess: FloatArray, size: int) -> FloatArray:
    """The mean of `size` points from each point on [n - size + 1]."""
    count = max(len(excess) - size + 1, 0)
    total = np.zeros(count)
    # point by point: a mean never depends on where the array begins
    for offset in range(size):
        total += excess[offset : offset + count]
    mean: FloatArray = total / size
    return mean
