"""How far runs that differ by the seed only settle apart, from runs that repeat each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from holter.detectors.compare.grid import GriddedCurve, grid_edges
from holter.detectors.compare.significance import SeedSpread
from holter.types import FloatArray, IntArray

INTERVALS = 2048
"""Intervals of a curve at most: the limits of a common half are exact to a thousandth of it."""
_LEAST_FREEDOM = 2
"""Degrees of freedom from which on repeated runs say something about the spread between seeds."""


class CurveLevels(NamedTuple):
    """A curve's means over the intervals [m] of x that have points: their centers, points and means."""

    center: FloatArray
    points: IntArray
    mean: FloatArray

    def level(self, limits: tuple[float, float]) -> float:
        """The mean of the points of the intervals within limits, at least of the next one."""
        first = min(int(np.searchsorted(self.center, limits[0])), len(self.center) - 1)
        rows = slice(first, max(int(np.searchsorted(self.center, limits[1], side="right")), first + 1))
        return float(np.average(self.mean[rows], weights=self.points[rows]))


def levels_of(curve: GriddedCurve) -> CurveLevels:
    """The means of a curve over equal intervals of its range; empty without points."""
    if not len(curve.x):
        return CurveLevels(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0))
    edges = grid_edges([curve.x], INTERVALS, overlap=False)
    means = curve.means(edges)
    filled = means.points > 0
    return CurveLevels(((edges[:-1] + edges[1:]) / 2)[filled], means.points[filled], means.mean[filled])


def spread_of_repetitions(groups: Iterable[Collection[CurveLevels]]) -> SeedSpread | None:
    """The spread within groups of runs that differ by the seed only; None where there are too few of them.

    Runs are compared over the newer half of what all of their group have in common.
    """
    total, freedom = 0.0, 0
    for members in groups:
        if len(members) < 2:
            continue
        begin = max(float(each.center[0]) for each in members)
        end = min(float(each.center[-1]) for each in members)
        if begin >= end:
            continue
        levels = np.array([each.level(((begin + end) / 2, end)) for each in members])
        mean = float(np.mean(levels))
        if mean > 0:
            total += float(np.sum((levels / mean - 1) ** 2))
            freedom += len(members) - 1
    if freedom < _LEAST_FREEDOM:
        return None
    return SeedSpread(relative=float(np.sqrt(2 * total / freedom)), freedom=freedom)
