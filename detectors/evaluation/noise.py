"""The noise of a few evaluations, and how far above their level chance puts a mean of some of them.

Noise is the difference between an evaluation and the line between its neighbors (Gasser, Sroka and
Jennen-Steinmetz 1986): no trend need be known, and the steps between evaluations may vary. The same
differences between more distant neighbors show how far the level wanders by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import stdtrit

from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

_TINY = 1e-30


@dataclass(frozen=True, kw_only=True)
class EvaluationNoiseThresholds(Thresholds):
    """How the noise of evaluations is measured, and how rarely chance may exceed a limit."""

    distances: tuple[int, ...] = (1, 2, 4, 8)
    """Evaluations between those that are compared with the line between their neighbors."""
    latest: int = 32
    """Differences that the noise is measured on; noise shrinks as a loss falls."""
    fewest: int = 6
    """Differences before which nothing is reported."""
    clip_spreads: float = 3.0
    """Spreads. A difference counts at most this much: the first evaluations of a run fall steeply."""
    floor_share: float = 1e-3
    """Share of the level that counts as noise at least: what is not worth reporting."""
    most_decimals: int = 8
    """Decimal places up to which numbers count as rounded to them: half a unit of the last one is noise."""
    dense_evaluations: int = 512
    """Evaluations from which on the noise is not measured anew after each."""
    dense_grid: int = 16
    """Evaluations after which it is then measured anew."""
    unknown_growth: float = 1.5
    """Factor by which wander is assumed to grow to the next distance, while unknown there."""
    chance: float = 5e-4
    """Probability of a false alarm in one test at the n-th evaluation, times n: a series has few of them,
    however long it is."""
    freedom: float = 0.6
    """Degrees of freedom of a difference: differences share their points."""
    freedom_loss: float = 0.05
    """Share by which degrees of freedom shrink with each further evaluation in a mean."""
    least_freedom: float = 2.0
    """Degrees of freedom, at least."""
    strides_per_octave: int = 8
    """Numbers of evaluations, per doubling, for which the limit is computed: it hardly changes between."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EvaluationNoise:
    """The noise known after each of some evaluations [n].

    `sigma` is that of a single one, NaN while unknown; `wander`, by distance, the standard deviation by which
    the level differs over that many evaluations in addition; `reach` how far above its neighbors a single one
    was at most; `known` the number of differences these rest on.
    """

    sigma: FloatArray
    wander: dict[int, FloatArray]
    reach: FloatArray
    known: FloatArray


def measure_evaluation_noise(
    step: FloatArray, value: FloatArray, thresholds: EvaluationNoiseThresholds
) -> EvaluationNoise:
    """The noise after each evaluation [n], from those up to it."""
    floor = np.maximum(thresholds.floor_share * np.abs(value), _rounding(value, thresholds)) + _TINY
    variance, reach, known = {}, np.zeros(len(value)), np.zeros(len(value))
    for distance in thresholds.distances:
        differences = _differences(step, value, distance)
        variance[distance] = _running_variance(differences, len(value), 3 * distance, thresholds)
        if distance == 1:
            count = np.minimum(np.arange(1, len(value) - 2), thresholds.latest)
            known[3:] = count[: max(len(value) - 3, 0)]
            reach = _highest_single(value, thresholds)
    sigma = np.sqrt(np.maximum(variance[1], floor**2))
    wander = {}
    previous = np.zeros(len(value))
    for distance in thresholds.distances[1:]:
        # over longer distances fewer of the differences are independent
        wide = variance[distance] * (1 + distance / np.maximum(known, 1))
        current = np.sqrt(np.maximum(wide - variance[1], 0.0))
        # unknown wander is assumed to grow as it did from the previous distance
        previous = np.where(np.isnan(current), thresholds.unknown_growth * previous, current)
        wander[distance] = previous
    return EvaluationNoise(sigma=sigma, wander=wander, reach=reach, known=known)


def _rounding(value: FloatArray, thresholds: EvaluationNoiseThresholds) -> FloatArray:
    """Half a unit of the last decimal place of the values up to each [n]; 0 where they are not rounded."""
    decimals = np.zeros(len(value), dtype=np.int64)
    for places in range(thresholds.most_decimals + 1):
        scaled = value * 10.0**places
        decimals += np.abs(scaled - np.round(scaled)) > 1e-6
    most = np.maximum.accumulate(decimals)
    return np.where(most <= thresholds.most_decimals, 0.5 * 10.0**-most, 0.0)


def _differences(step: FloatArray, value: FloatArray, distance: int) -> FloatArray:
    """By how much four evaluations at this distance miss a parabola in the logarithm of the step, as whose
    power losses fall; in units of the spread of a single one [n - 3 distance]."""
    count = len(value) - 3 * distance
    if count <= 0:
        return np.empty(0)
    rows = np.arange(count)[:, None] + distance * np.arange(4)
    # relative to the first of the four, so that large steps lose no digits
    spacing, since = step[rows[:, 1]] - step[rows[:, 0]], np.maximum(step[rows[:, 0]], 0.0)
    position = np.log1p((step[rows] - step[rows[:, :1]]) / (since + spacing)[:, None])
    gap = position[:, :, None] - position[:, None, :] + np.eye(4)
    weight = 1.0 / np.prod(gap, axis=2)
    differences: FloatArray = np.sum(weight * value[rows], axis=1) / np.sqrt(np.sum(weight**2, axis=1))
    return differences


def _running_variance(
    differences: FloatArray, points: int, shift: int, thresholds: EvaluationNoiseThresholds
) -> FloatArray:
    """The variance of the latest differences after each evaluation [points]; NaN while there are few."""
    latest = thresholds.latest
    variance = np.full(points, np.nan)
    size = np.abs(differences)
    for count in range(thresholds.fewest, min(len(size), latest) + 1):
        variance[shift + count - 1] = _clipped_variance(size[None, :count], thresholds)[0]
    if len(size) > latest:
        grid = 1 if points < thresholds.dense_evaluations else thresholds.dense_grid
        measured = _clipped_variance(sliding_window_view(size, latest)[1::grid], thresholds)
        variance[shift + latest :] = np.repeat(measured, grid)[: points - shift - latest]
    return variance


def _clipped_variance(size: FloatArray, thresholds: EvaluationNoiseThresholds) -> FloatArray:
    limit = thresholds.clip_spreads * MAD_TO_SIGMA * np.median(size, axis=1, keepdims=True)
    variance: FloatArray = np.mean(np.minimum(size, limit) ** 2, axis=1)
    return variance


def _highest_single(value: FloatArray, thresholds: EvaluationNoiseThresholds) -> FloatArray:
    """How far above both its neighbors one of the latest was at most, after each evaluation [n]."""
    window = 2 * thresholds.latest
    highest = np.zeros(len(value))
    above = np.maximum(value[1:-1] - np.maximum(value[:-2], value[2:]), 0.0)
    above = np.concatenate((np.zeros(window - 1), above))
    if len(value) > 2:
        highest[2:] = sliding_window_view(above, window).max(axis=1)
    return highest


def chance_limits(
    count: IntArray, known: FloatArray, points: int, thresholds: EvaluationNoiseThresholds
) -> FloatArray:
    """Standard errors that a mean over some evaluations exceeds by chance only rarely.

    For the `count`-th evaluation [n], its error being known from `known` differences [n]; infinite while
    unknown.
    """
    per_octave = thresholds.strides_per_octave
    stride = np.ceil(per_octave * np.log2(np.maximum(count, 1)))
    changes = np.flatnonzero((np.diff(stride) != 0) | (np.diff(known) != 0)) + 1
    firsts = np.concatenate(([0], changes))
    limits = [
        _chance_limit(2 ** (stride[first] / per_octave), int(known[first]), points, thresholds)
        for first in firsts.tolist()
    ]
    return np.repeat(limits, np.diff(np.append(firsts, len(count))))


@lru_cache(maxsize=4096)
def _chance_limit(count: float, known: int, points: int, thresholds: EvaluationNoiseThresholds) -> float:
    if known < thresholds.fewest:
        return float("inf")
    loss = 1 + thresholds.freedom_loss * (points - 1)
    freedom = max(thresholds.freedom * known / loss, thresholds.least_freedom)
    return -float(stdtrit(freedom, thresholds.chance / count))  # scipy.stats would cost every server 60 MB
