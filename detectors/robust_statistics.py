"""Estimates of level and scale that a few outliers do not distort.

`median` and `quantiles` return what numpy returns, in a fraction of its time for windows of some hundred
values: numpy spends most of it on handling axes and weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.types import FloatArray

MAD_TO_SIGMA = 1.4826
"""The standard deviation of normal noise over its median absolute deviation (MAD)."""


def median(values: FloatArray) -> float:
    """The median of values [n >= 1]; NaN where one of them is NaN. Equal to `np.median` bit by bit."""
    half = len(values) // 2
    last = len(values) - 1
    # NaN is sorted to the end
    if len(values) % 2:
        ordered = np.partition(values, (half, last))
        middle = float(ordered[half])
    else:
        ordered = np.partition(values, (half - 1, half, last))
        middle = (float(ordered[half - 1]) + float(ordered[half])) / 2
    return middle if ordered[last] == ordered[last] else float("nan")


def row_medians(values: FloatArray) -> FloatArray:
    """The median of each row of finite values [m, n >= 1]. Equal to `np.median` bit by bit."""
    size = values.shape[1]
    half = size // 2
    if size % 2:
        middle: FloatArray = np.partition(values, half, axis=1)[:, half]
        return middle
    ordered = np.partition(values, (half - 1, half), axis=1)
    between: FloatArray = (ordered[:, half - 1] + ordered[:, half]) / 2
    return between


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
