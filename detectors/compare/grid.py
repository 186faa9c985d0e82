"""Means of curves over common intervals of x, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holter.types import FloatArray, IntArray


class GridMeans(NamedTuple):
    """Means over intervals [m]: `points` in each, `mean` NaN where there are none."""

    points: IntArray
    mean: FloatArray


def grid_edges(curves: Sequence[FloatArray], intervals: int, *, overlap: bool) -> FloatArray:
    """The edges of equal intervals over the x of curves, each ascending; empty without any.

    `overlap`: over the range that all curves cover, else over all of it. There are at most `intervals`, and
    at most as many as the curve with the fewest points has in this range.
    """
    filled = [x for x in curves if len(x)]
    if not filled or (overlap and len(filled) < len(curves)):
        return np.empty(0)
    ends = np.array([(x[0], x[-1]) for x in filled])
    low, high = (ends[:, 0].max(), ends[:, 1].min()) if overlap else (ends[:, 0].min(), ends[:, 1].max())
    if not low <= high:
        return np.empty(0)
    fewest = min(int(np.searchsorted(x, high, side="right") - np.searchsorted(x, low)) for x in filled)
    count = max(min(intervals, fewest), 1)
    # the last point belongs to the last interval
    return np.append(np.linspace(low, high, count + 1)[:-1], np.nextafter(high, np.inf))


def grid_means(edges: FloatArray, x: FloatArray, value: FloatArray) -> GridMeans:
    """The mean of the finite values of a curve, with ascending x [n], in each interval."""
    bounds = np.searchsorted(x, edges)
    inside, bounds = value[bounds[0] : bounds[-1]], bounds - bounds[0]
    means = _interval_means(inside, bounds)
    # a finite mean is one of finite values: they need not be checked themselves
    if np.isfinite(means.mean[means.points > 0]).all():
        return means
    finite = np.isfinite(inside)
    before = np.concatenate(([0], np.cumsum(finite)))
    return _interval_means(inside[finite], before[bounds])


def _interval_means(value: FloatArray, bounds: IntArray) -> GridMeans:
    """The mean of the values in each interval, given the index of the first value of each and the end."""
    points = np.diff(bounds)
    filled = np.flatnonzero(points)
    mean = np.full(len(points), np.nan)
    if len(filled):
        with np.errstate(invalid="ignore", over="ignore"):
            # the sum from the beginning of each filled interval to that of the next one
            mean[filled] = np.add.reduceat(value, bounds[filled]) / points[filled]
    return GridMeans(points, mean)


class GriddedCurve:
    """A curve whose means over the same intervals are computed once: x [n] ascending, finite values [n]."""

    def __init__(self, x: FloatArray, value: FloatArray) -> None:
        self.x = x
        self.value = value
        self._means: dict[tuple[float, float, int], GridMeans] = {}

    def means(self, edges: FloatArray) -> GridMeans:
        """The means over equal intervals with these edges."""
        key = float(edges[0]), float(edges[-1]), len(edges)
        found = self._means.get(key)
        if found is None:
            found = self._means[key] = grid_means(edges, self.x, self.value)
        return found


def ratio_of(value: FloatArray, baseline: FloatArray) -> FloatArray:
    """`value` over `baseline` [n]; NaN where that is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: FloatArray = value / baseline
    return np.where(np.isfinite(ratio), ratio, np.nan)
