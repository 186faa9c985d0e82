"""How far a signal falls by chance within some rows, estimated from its usual falls over as few rows."""

from __future__ import annotations

from math import sqrt

from holter.detectors.robust_statistics import quantiles
from holter.types import FloatArray

SHORTEST = 4
"""Rows of the shortest distance over which falls are measured."""
_DISTANCES = ((SHORTEST, 0.9, 1.2816), (16, 0.75, 0.6745), (64, 0.75, 0.6745))
"""Rows between two values, the quantile of their differences that shows the noise, and that of normal noise.
A lower one over longer distances: an earlier collapse is in as many differences as they have rows."""


def chance_fall(usual: FloatArray, best: FloatArray, rows: int) -> float:
    """The standard deviation of moves over so many rows (4 or more), of the rows that are usual downwards, of
    the best ones in either direction: noise often grows with the level.

    A mean of the latest episodes moves by the episodes that enter and leave it, a random walk: beyond the
    distances that are measured, moves grow with the root of the distance.
    """
    spread = _spread(abs(best[SHORTEST:] - best[:-SHORTEST]), 0.8, 1.2816) * sqrt(rows / SHORTEST)
    measured = [each for each in _DISTANCES if each[0] <= rows and len(usual) >= 2 * each[0]]
    if not measured:
        return spread
    distance, quantile, normal = measured[-1]
    falls = _spread(usual[:-distance] - usual[distance:], quantile, normal) * sqrt(rows / distance)
    return max(spread, falls)


def _spread(moves: FloatArray, quantile: float, normal: float) -> float:
    # two rows are as far apart as the root of two standard deviations
    return quantiles(moves, (quantile,))[0] / (2**0.5 * normal)
