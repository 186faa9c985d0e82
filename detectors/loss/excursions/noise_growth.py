"""Scores of residuals without the growth of the noise, which is no tail of it.

The noise of a point is measured on the points before it. Where it grows, as when a loss leaves its first
plateau, points are far out for the noise of their time, and would count as a heavy tail for a thousand more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.robust_statistics import MAD_TO_SIGMA, row_medians
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class NoiseGrowthThresholds(Thresholds):
    """When noise counts as grown for good."""

    points: int = 64
    """Points of a block in which the noise is measured again: a MAD of so many has an error of 14 %."""
    least: float = 1.5
    """Times the noise expected that a block and the next one must have: chance hardly reaches three standard
    errors twice, and a burst is over before the next block ends."""


def without_growth(score: FloatArray, residual: FloatArray, thresholds: NoiseGrowthThresholds) -> FloatArray:
    """Scores [n] of residuals [n], in the sigmas that came where the noise had grown for good; NaN stay."""
    first = int(np.argmax(~np.isnan(score))) if len(score) else 0
    size = thresholds.points
    blocks = (len(score) - first) // size
    if blocks < 2:
        return score
    stop = len(score) - blocks * size
    scores, residuals = (each[stop:].reshape(blocks, size) for each in (score, residual))
    grown = _spreads(scores)
    if grown.max() < thresholds.least:
        return score  # as in most runs
    growth = np.minimum(grown, grown * _share_that_stays(residuals))
    has_grown = growth >= thresholds.least
    if not has_grown.any():
        return score
    corrected = scores / np.where(has_grown, growth, 1.0)[:, None]
    return np.concatenate((score[:stop], corrected.ravel()))


def _share_that_stays(residual: FloatArray) -> FloatArray:
    """The noise of the block after each block of residuals [m, n] over its own; 0 for the last one, where
    none is known yet."""
    own = _spreads(residual)
    following = np.append(own[1:], 0.0)
    share: FloatArray = np.divide(following, own, out=np.zeros_like(own), where=own > 0)
    return share


def _spreads(values: FloatArray) -> FloatArray:
    """The standard deviation of each row of values [m, n], by the MAD."""
    spreads: FloatArray = MAD_TO_SIGMA * row_medians(np.abs(values - row_medians(values)[:, None]))
    return spreads
