"""The noise of a few evaluations, and how far above their level chance takes a mean of some of them.

Noise is what an evaluation differs by from the line between its neighbours (Gasser, Sroka and
Jennen-Steinmetz 1986): no trend need be known, and the steps between evaluations may vary. Between
neighbours further apart the same differences tell how far the level wanders by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import stdtrit

from holter.types import FloatArray, IntArray

APART = (1, 2, 4, 8)
"""Evaluations between those that are compared with the line between their neighbours."""
LATEST = 32
"""Differences that the noise is measured on; noise shrinks as a loss falls."""
FEWEST = 6
"""Differences before which nothing is said."""
_PULLED_IN = 3.0
"""A difference counts for at most so many spreads: the first evaluations of a run fall steeply."""
_NORMAL_MAD = 1.4826
_FLOOR = 1e-3
"""Share of the level that counts as noise at least: rounding, and what nobody speaks of."""
_DENSE, _RARELY = 512, 16
_CHANCE = 5e-4
"""Of a false alarm in one look at the n-th evaluation, times n: so that a series has few, however long."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise:
    """Noise known after each of some evaluations [n]: `sigma` of a single one, NaN while unknown; `wander`
    by distance, the standard deviation by which the level differs over so many evaluations besides;
    `reach`, how far above its neighbours a lone one lay at most, and `known`, how many differences told."""

    sigma: FloatArray
    wander: dict[int, FloatArray]
    reach: FloatArray
    known: FloatArray


def noise_of(step: FloatArray, value: FloatArray) -> Noise:
    """The noise after each evaluation [n], from those up to it."""
    floor = _FLOOR * np.abs(value) + 1e-30
    square, reach, known = {}, np.zeros(len(value)), np.zeros(len(value))
    for apart in APART:
        off = _differences(step, value, apart)
        square[apart] = _spread(off, len(value), 3 * apart)
        if apart == 1:
            known[3:] = np.minimum(np.arange(1, len(value) - 2), LATEST)[: max(len(value) - 3, 0)]
            reach = _highest(value)
    sigma = np.sqrt(np.maximum(square[1], floor**2))
    wander = {}
    before = np.zeros(len(value))
    for apart in APART[1:]:
        # what is unknown yet goes on growing as it did from the distance before
        # over longer distances fewer of them are independent
        wide = square[apart] * (1 + apart / np.maximum(known, 1))
        now = np.sqrt(np.maximum(wide - square[1], 0.0))
        before = np.where(np.isnan(now), 1.5 * before, now)
        wander[apart] = before
    return Noise(sigma=sigma, wander=wander, reach=reach, known=known)


def _differences(step: FloatArray, value: FloatArray, apart: int) -> FloatArray:
    """By how much four evaluations so far apart miss a parabola in the logarithm of the step, as whose power
    losses fall; in units of the spread of a single one [n - 3 apart]."""
    count = len(value) - 3 * apart
    if count <= 0:
        return np.empty(0)
    at = np.arange(count)[:, None] + apart * np.arange(4)
    # relative to the first of the four, which loses no digits however large steps are
    spacing, since = step[at[:, 1]] - step[at[:, 0]], np.maximum(step[at[:, 0]], 0.0)
    place = np.log1p((step[at] - step[at[:, :1]]) / (since + spacing)[:, None])
    gap = place[:, :, None] - place[:, None, :] + np.eye(4)
    weight = 1.0 / np.prod(gap, axis=2)
    off: FloatArray = np.sum(weight * value[at], axis=1) / np.sqrt(np.sum(weight**2, axis=1))
    return off


def _spread(off: FloatArray, points: int, shift: int) -> FloatArray:
    """The variance after each of so many evaluations, of the latest differences; NaN while there are few."""
    spread = np.full(points, np.nan)
    size = np.abs(off)
    for count in range(FEWEST, min(len(size), LATEST) + 1):
        spread[shift + count - 1] = _variance(size[None, :count])[0]
    if len(size) > LATEST:
        # of thousands of evaluations the noise is measured now and then
        apart = 1 if points < _DENSE else _RARELY
        found = _variance(sliding_window_view(size, LATEST)[1::apart])
        spread[shift + LATEST :] = np.repeat(found, apart)[: points - shift - LATEST]
    return spread


def _variance(size: FloatArray) -> FloatArray:
    limit = _PULLED_IN * _NORMAL_MAD * np.median(size, axis=1, keepdims=True)
    variance: FloatArray = np.mean(np.minimum(size, limit) ** 2, axis=1)
    return variance


def _highest(value: FloatArray) -> FloatArray:
    """How far above both its neighbours one of the latest lay at most, after each evaluation [n]."""
    highest = np.zeros(len(value))
    up = np.maximum(value[1:-1] - np.maximum(value[:-2], value[2:]), 0.0)
    up = np.concatenate((np.zeros(2 * LATEST - 1), up))
    if len(value) > 2:
        highest[2:] = sliding_window_view(up, 2 * LATEST).max(axis=1)
    return highest


def limits(count: IntArray, known: FloatArray, points: int) -> FloatArray:
    """Standard errors that a mean over so many evaluations exceeds by chance as rarely as asked, at the
    `count`-th evaluation [n], its error being known from so many differences [n]; infinite while unknown."""
    # in ever longer strides, eight to the double: it hardly changes
    stride = np.ceil(8 * np.log2(np.maximum(count, 1)))
    changes = np.flatnonzero((np.diff(stride) != 0) | (np.diff(known) != 0)) + 1
    firsts = np.concatenate(([0], changes))
    found = [_limit(2 ** (stride[one] / 8), int(known[one]), points) for one in firsts.tolist()]
    return np.repeat(found, np.diff(np.append(firsts, len(count))))


@lru_cache(maxsize=4096)
def _limit(count: float, known: int, points: int) -> float:
    if known < FEWEST:
        return float("inf")
    # differences share their points: each is worth half a degree of freedom, over longer distances less
    freedom = max(0.6 * known / (1 + 0.05 * (points - 1)), 2.0)
    return -float(stdtrit(freedom, _CHANCE / count))  # scipy.stats would cost every server 60 MB
