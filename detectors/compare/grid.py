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
    finite = np.isfinite(value)
    totals = np.concatenate(([0.0], np.cumsum(np.where(finite, value, 0.0))))
    counts = np.concatenate(([0], np.cumsum(finite)))
    count = np.diff(counts[bounds])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.diff(totals[bounds]) / count
    return GridMeans(count, np.where(count > 0, mean, np.nan))


def ratio_of(value: FloatArray, baseline: FloatArray) -> FloatArray:
    """`value` over `baseline` [n]; NaN where that is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: FloatArray = value / baseline
    return np.where(np.isfinite(ratio), ratio, np.nan)
