"""How far the running median lags behind a falling loss, and how alike neighboring points are beside that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.robust_statistics import mad_sigma, median
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray

_MOST_CORRELATION = 0.95
"""Beyond it, the error of a median would be larger than any lag."""
_MEDIAN_ERROR = 1.25
"""Standard error of a median of normal values in that of their mean (Kendall and Stuart, The Advanced Theory
of Statistics, 10.9)."""


@dataclass(frozen=True, kw_only=True)
class MedianLagThresholds(Thresholds):
    """When the running median counts as lagging behind a falling level."""

    points: int = 24
    """The latest residuals whose median must show the lag as well: as many as in a running median, so that
    none is left soon after the loss has stopped falling."""
    errors: float = 1.0
    """Standard errors of that median by which the lag is reduced: what is certain of it."""
    correlation_errors: float = 2.0
    """Standard errors by which the correlation of a young series is reduced: it raises the evidence required,
    and few points have some by chance."""
    clip_sigmas: float = 4.0
    """Sigmas. A change from point to point counts at most this much in the correlation."""


@dataclass(frozen=True)
class Correlation:
    """The correlation of neighboring points, 0 to 0.95, and its standard error."""

    value: float
    error: float

    @property
    def widening(self) -> float:
        """The factor on the standard error of a mean or median of many points."""
        return float(np.sqrt((1 + self.value) / (1 - self.value)))


def measure_correlation(residual: FloatArray, thresholds: MedianLagThresholds) -> Correlation:
    """The correlation of neighboring residuals [n >= 3], by their changes, whose spread a fall does not
    widen.

    Neighboring changes are correlated by -(1 - r) / 2 where points are by r, farther ones by its powers. The
    standard error is twice that of the changes of independent points (Bartlett's formula: Box and Jenkins,
    Time Series Analysis, 2.1.6).
    """
    change = np.diff(residual)
    middle = median(change)
    spread = mad_sigma(change, middle)
    if spread <= 0:
        return Correlation(0.0, 0.0)
    limit = thresholds.clip_sigmas * spread
    bounded = np.clip(change - middle, -limit, limit) / spread  # in this order nothing overflows
    of_changes = float(np.mean(bounded[1:] * bounded[:-1]) / np.mean(bounded**2))
    value = min(max(1 + 2 * of_changes, 0.0), _MOST_CORRELATION)
    return Correlation(value, float(np.sqrt(2 / len(change))))


def measure_lag(residual: FloatArray, sigma: float, thresholds: MedianLagThresholds) -> float:
    """How far the running median is above the level that it follows, as far as the residuals [n >= 1] show it
    with certainty; 0 where it does not lag."""
    latest = residual[-thresholds.points :]
    error = _MEDIAN_ERROR * sigma / float(np.sqrt(len(latest)))
    lag = min(-median(residual), -median(latest))
    if lag <= thresholds.errors * error:
        return 0.0
    error *= measure_correlation(residual, thresholds).widening
    return max(lag - thresholds.errors * error, 0.0)
