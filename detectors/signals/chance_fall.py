"""How far a signal falls by chance within some rows, estimated from its usual falls over as few rows."""

from __future__ import annotations

from math import sqrt

import numpy as np

from holter.detectors.robust_statistics import median, quantiles
from holter.types import FloatArray

SHORTEST = 4
"""Rows of the shortest distance over which falls are measured."""
_DISTANCES = ((SHORTEST, 0.9, 1.2816), (16, 0.75, 0.6745), (64, 0.75, 0.6745))
"""Rows between two values, the quantile of their differences that shows the noise, and that of normal noise.
A lower one over longer distances: an earlier collapse is in as many differences as they have rows."""

_LEAST_UNCHANGED = 0.25
"""Rows that repeat the value before them, of all, in a level that moves by steps."""


def chance_fall(usual: FloatArray, best: FloatArray, rows: int) -> float:
    """The standard deviation of moves over so many rows (4 or more), of the rows that are usual downwards, of
    the best ones in either direction: noise often grows with the level.

    A mean of the latest episodes moves by the episodes that enter and leave it, a random walk: beyond the
    distances that are measured, moves grow with the root of the distance.
    """
    spread = _spread(abs(best[SHORTEST:] - best[:-SHORTEST]), 0.8, 1.2816) * sqrt(rows / SHORTEST)
    spread = max(spread, chance_of_steps(usual, rows))
    measured = [each for each in _DISTANCES if each[0] <= rows and len(usual) >= 2 * each[0]]
    if not measured:
        return spread
    distance, quantile, normal = measured[-1]
    falls = _spread(usual[:-distance] - usual[distance:], quantile, normal) * sqrt(rows / distance)
    return max(spread, falls)


def chance_of_steps(usual: FloatArray, rows: int) -> float:
    """The same of a level that often repeats its last value, as the mean of rare rewards does; 0 of others.

    It moves at random by the falls that are usual between two rows, as often up as down. These are too few
    for quantiles of all moves, which are zero.
    """
    moves = np.diff(usual)
    falls, rises = -moves[moves < 0], moves[moves > 0]
    if np.count_nonzero(moves == 0) < _LEAST_UNCHANGED * len(moves):
        return 0.0
    if not len(falls):  # the first one will be as large as the rises were
        return median(rises) / 2**0.5 if len(rises) else 0.0
    steps = 2 * rows * len(falls) / len(moves)  # up and down
    return median(falls) * sqrt(max(steps, 1.0)) / 2**0.5


def _spread(moves: FloatArray, quantile: float, normal: float) -> float:
    # two rows are as far apart as the root of two standard deviations
    return quantiles(moves, (quantile,))[0] / (2**0.5 * normal)
