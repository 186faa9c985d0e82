"""How far above the level noise alone puts a single point, estimated from the points below the level.

A bad batch raises a loss for one point; nothing lowers it. Points below the level are therefore noise, and
their depth shows how far noise reaches above it: as far as single points lie below, and further the heavier
their tail is. Where the body of the noise is skewed already (a loss averaged over few samples), the depth
below is too small an estimate, and the reach of a shifted lognormal with the quantiles of the body is used
where it is larger. The body's quantiles are not affected by the outliers of a few bad batches. The shape of
noise changes as a loss falls: once most examples are learned, those that cannot be (a wrong label) stand out.
A body whose latest points are clearly skewed is, therefore, whatever it was on its first plateau.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holter.detectors.robust_statistics import quantiles
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class NoiseTailThresholds(Thresholds):
    """How the reach of noise is estimated from the points below the level."""

    deepest_points: int = 3
    """Points. The mean depth of this many single points is the reach of noise: one may be chance, and more
    would need a longer history."""
    tail_points: int = 40
    """Points. The index of the tail (Hill's estimator) is taken from at most this many of the deepest."""
    tail_points_in: int = 100
    """Points. The index of the tail is taken from one point in this many, if that is fewer."""
    smallest_index_inverse: float = 0.1
    """Inverse of the tail's index, at least: a lighter tail is treated as this light."""
    typical_depths: float = 1.7
    """Times the mean depth. Normal noise and Student's t4 hardly ever exceed it."""
    rare_odds: float = 16.0
    """Ratio. A point that the tail no longer explains is this much rarer than three in 4,608 points, that is
    once in 25,000 points."""
    typical_sigmas: float = 3.7
    """Sigmas. Normal noise exceeds this once in 10,000 points; used for a skewed body."""
    rare_sigmas: float = 4.6
    """Sigmas. Normal noise exceeds this once in 500,000 points; used for a skewed body."""
    symmetric_ratio: float = 1.2
    """Ratio of the upper to the lower outer quantile range. Up to it the body counts as symmetric: chance in
    a small sample."""
    latest_points: int = 256
    """Points. The latest ones, whose skew counts where it is certain: their outer quantile rests on six."""
    latest_errors: float = 3.0
    """Standard errors by which both ratios of their quantile ranges must be above 1: they are examined again
    and again, and slightly skewed noise reaches hardly further."""
    young_errors: float = 2.0
    """Standard errors by which a young body must be skewed to count as such."""
    quantile_error: float = 1.9
    """Standard error of the logarithm of that ratio times the root of the number of points: that of a 97.5 %
    quantile of normal noise is 2.67 sigmas (Kendall and Stuart, The Advanced Theory of Statistics, 10.10), of
    which 1.96 are its distance from the median, and both sides vary."""
    inner_quantile_error: float = 2.3
    """The same of the ratio of the inner quantile ranges, where the error of the median counts, too."""
    body_quantiles: tuple[float, float, float, float, float] = (0.025, 0.16, 0.5, 0.84, 0.975)
    """Quantiles of the body from which its skew is measured: two sigmas, one sigma and the median."""
    outer_sigmas: float = 1.96
    """Sigmas. Distance of normal noise's 97.5 % quantile, the outermost of `body_quantiles`."""


class NoiseReach(NamedTuple):
    """In sigmas: a single point up to `typical` is ordinary; up to `rare` the noise's shape explains it."""

    typical: float
    rare: float


NO_REACH = NoiseReach(0.0, 0.0)


def measure_reach(score: FloatArray, thresholds: NoiseTailThresholds) -> NoiseReach:
    """The reach of noise with these scores [n >= 3]: distances from the level in sigmas of their time."""
    depth, tail_index = _tail_below(score, thresholds)
    usual = _skewed_reach(_Body.of(score, thresholds), thresholds, thresholds.symmetric_ratio)
    latest = _latest_reach(score[-thresholds.latest_points :], thresholds)
    factor = max(thresholds.typical_depths, thresholds.rare_odds ** (1 / tail_index))
    return NoiseReach(
        typical=max(thresholds.typical_depths * depth, usual.typical, latest.typical),
        rare=max(factor * depth, usual.rare, latest.typical),
    )


def _latest_reach(score: FloatArray, thresholds: NoiseTailThresholds) -> NoiseReach:
    """The reach of a body whose latest scores [n >= 1] are clearly skewed. So few show which points are
    ordinary, and no more."""
    body = _Body.of(score, thresholds)
    by_chance = thresholds.latest_errors / np.sqrt(len(score))
    if body.inner < np.exp(by_chance * thresholds.inner_quantile_error):
        return NO_REACH
    return _skewed_reach(body, thresholds, float(np.exp(by_chance * thresholds.quantile_error)))


def measure_young_reach(score: FloatArray, thresholds: NoiseTailThresholds) -> NoiseReach:
    """The reach of noise of which few scores [n >= 1] are known: that of a body which is clearly skewed; the
    depth of so few points below the level tells nothing."""
    by_chance = float(np.exp(thresholds.young_errors * thresholds.quantile_error / np.sqrt(len(score))))
    body = _Body.of(score, thresholds)
    return _skewed_reach(body, thresholds, max(thresholds.symmetric_ratio, by_chance))


def _tail_below(score: FloatArray, thresholds: NoiseTailThresholds) -> tuple[float, float]:
    """The mean depth of the deepest points below both their neighbors, and the index of that tail.

    A fall, whose points are all low, does not count, since a point there is not below its neighbors.
    """
    lower_neighbor = np.minimum(np.minimum(score[:-2], score[2:]), 0.0)
    depth = lower_neighbor - score[1:-1]
    least = thresholds.deepest_points
    size = min(
        max(min(len(depth) // thresholds.tail_points_in, thresholds.tail_points), least) + 1, len(depth)
    )
    deepest = np.sort(np.partition(depth, -size)[-size:])
    mean_depth = max(0.0, float(np.mean(deepest[-least:])))
    if size <= 2 * least or deepest[0] <= 0:
        return mean_depth, np.inf
    inverse = max(float(np.mean(np.log(deepest[1:] / deepest[0]))), thresholds.smallest_index_inverse)
    return mean_depth, 1 / inverse


class _Body(NamedTuple):
    """The shape of the body of noise: the range above the median to its outer quantile, and the ratios of the
    upper to the lower quantile ranges (1 where too many scores are alike to tell)."""

    above: float
    outer: float
    inner: float

    @staticmethod
    def of(score: FloatArray, thresholds: NoiseTailThresholds) -> _Body:
        """That of scores [n >= 1]."""
        lowest, low, middle, high, highest = quantiles(score, thresholds.body_quantiles)
        above = highest - middle
        if not (lowest < low < middle < high < highest):
            return _Body(above, 1.0, 1.0)
        return _Body(above, above / (middle - lowest), (high - middle) / (middle - low))


def _skewed_reach(body: _Body, thresholds: NoiseTailThresholds, symmetric_ratio: float) -> NoiseReach:
    """The reach of a lognormal with the skew of the body; none where the body is symmetric: up to a ratio of
    its outer quantile ranges."""
    # the skew of the outer quantiles counts only as far as the inner quantiles confirm it
    skew = min(float(np.log(body.outer)) / thresholds.outer_sigmas, float(np.log(body.inner)))
    if body.outer < symmetric_ratio or skew <= 0:
        return NO_REACH
    scale = body.above / float(np.expm1(thresholds.outer_sigmas * skew))
    sigmas = (thresholds.typical_sigmas, thresholds.rare_sigmas)
    typical, rare = (scale * float(np.expm1(skew * distance)) for distance in sigmas)
    return NoiseReach(typical, rare)
