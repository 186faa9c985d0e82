"""Estimates of level and scale that a few outliers do not distort.

`median` and `quantiles` return what numpy returns, in a fraction of its time for windows of some hundred
values: numpy spends most of it on handling axes and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import betaincinv, ndtr

from holter.types import FloatArray, IntArray

MAD_TO_SIGMA = 1.4826
"""The standard deviation of normal noise over its median absolute deviation (MAD)."""


_FEW_VALUES = 128
"""Values up to which the median of each window by itself takes less time than a filter's call."""
_SORTED_VALUES = 1024
"""Values up to which sorting takes less time than a partition, of which numpy makes one for each place."""


def median(values: FloatArray | IntArray) -> float:
    """The median of values [n >= 1]; NaN where one of them is NaN. Equal to `np.median` bit by bit."""
    half = len(values) // 2
    # NaN is sorted to the end
    if len(values) <= _SORTED_VALUES:
        ordered = np.sort(values)
        low, high, last = ordered[half - 1], ordered[half], ordered[-1]
    else:
        ordered = np.partition(values, half)
        low, high, last = ordered[:half].max(), ordered[half], ordered[half:].max()
    if last != last:
        return float("nan")
    return float(high) if len(values) % 2 else (float(low) + float(high)) / 2


def row_medians(values: FloatArray) -> FloatArray:
    """The median of each row of finite values [m, n >= 1]. Equal to `np.median` bit by bit."""
    half = values.shape[1] // 2
    ordered = np.sort(values, axis=1)
    middle: FloatArray = ordered[:, half]
    return middle if values.shape[1] % 2 else (ordered[:, half - 1] + middle) / 2


def windows(values: FloatArray, size: int) -> FloatArray:
    """A copy of every window of `size` values in sequence [n - size + 1, size]: for some dozen windows faster
    than a view of them."""
    return values[_window_rows(len(values) - size + 1, size)]


@lru_cache(maxsize=256)
def _window_rows(count: int, size: int) -> IntArray:
    return np.arange(count)[:, None] + np.arange(size)


def centered_medians(values: FloatArray, size: int) -> FloatArray:
    """The median of the `size` values around each [n >= 1]; an odd number. Beyond the ends, the values there
    are repeated."""
    if len(values) > _FEW_VALUES:
        return np.asarray(median_filter(values, size=size, mode="nearest"))
    half = size // 2
    return row_medians(windows(np.concatenate(([values[0]] * half, values, [values[-1]] * half)), size))


def trailing_medians(before: FloatArray, values: FloatArray, size: int) -> FloatArray:
    """For each of some values [n] the median of the `size` values before it; `before` [m >= 1] are those
    before the first, which is repeated where they are too few."""
    before = before[-size:]
    if 0 < len(values) <= _FEW_VALUES:
        missing = np.full(size - len(before), before[0])
        return row_medians(windows(np.concatenate((missing, before, values[:-1])), size))
    both = np.concatenate((before, values))
    # origin shifts the window to end at its own point; one further back excludes that point
    medians = median_filter(both, size=size, origin=size // 2, mode="nearest")
    return np.asarray(medians[len(before) - 1 : len(both) - 1])


def quantiles(values: FloatArray, shares: Sequence[float]) -> list[float]:
    """The quantiles of finite values [n >= 1], interpolated linearly. Equal to `np.quantile` bit by bit."""
    ordered = np.sort(values)
    last = len(values) - 1
    found = []
    for share in shares:
        position = last * share
        index = int(position)
        part = position - index
        low, high = float(ordered[index]), float(ordered[min(index + 1, last)])
        # numpy interpolates from the nearer end
        found.append(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))
    return found


def mad_sigma(values: FloatArray, center: float) -> float:
    """The standard deviation of values [n >= 1] around a center, estimated by their MAD."""
    return MAD_TO_SIGMA * median(np.abs(values - center))


def median_error(values: FloatArray, count: int) -> float:
    """The standard error of the median of so many values in sequence, of a series that these values [n >= 1]
    show in order.

    No distribution is assumed: the share of values below the median of all has a standard error, and the
    median of some lies between the quantiles that far apart (Kendall and Stuart, The Advanced Theory of
    Statistics, 14.8). Values that stay on one side of the median for long count as fewer: in a chain of two
    equally likely states with runs of r values, r - 1 in sequence show as much as one independent value.
    """
    share = 0.5 * min(float(np.sqrt(_repeated(values) / count)), 1.0)
    low, high = quantiles(values, (0.5 - share, 0.5 + share))
    return (high - low) / 2


def highest_median(values: FloatArray, count: int, errors: float) -> float:
    """What the upper median of so many values in sequence hardly exceeds, of a series that these values
    [n >= 1] show in order: with the chance of a normal value beyond so many standard errors.

    The share of all values below an order statistic has a beta distribution (Kendall and Stuart, The Advanced
    Theory of Statistics, 14.2), which no distribution of the values enters: several standard errors of a
    median say little of its tail where values cluster. Values count as in `median_error`.
    """
    half = max(count / _repeated(values), 1.0) / 2
    return quantiles(values, (float(betaincinv(half + 1, half, ndtr(errors))),))[0]


def _repeated(values: FloatArray) -> float:
    """How many values in sequence show as much as one independent value."""
    above = values > median(values)
    runs = 1 + int(np.count_nonzero(above[1:] != above[:-1]))
    return max(len(values) / runs - 1, 1.0)
