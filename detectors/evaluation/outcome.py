"""The outcome of a rise of an evaluation loss: whether it came back, and the kind that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.robust_statistics import row_medians
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray, Kind, Severity


@dataclass(frozen=True, kw_only=True)
class RiseOutcomeThresholds(Thresholds):
    """When a rise of an evaluation loss is over, a jump, a drift or settled."""

    near_sigmas: float = 1.5
    """Sigmas above the old level within which the mean of two evaluations is back at it."""
    near_height: float = 0.25
    """Share of the height of a rise that still counts as back, where the noise is small; at most twice
    `near_sigmas`."""
    half_height: float = 0.5
    """Share of the height at which a rise is timed."""
    slow_rise: int = 2
    """Evaluations after which a rise that had not reached half of its height was no jump."""
    settled: int = 4
    """Evaluations that are high, after which a jump is not expected back."""
    settled_steps: int = 500
    """Steps after which a jump is not expected back."""
    drift: int = 4
    """Evaluations in a mean that detects a rise which fewer do not: a rise from one to the next."""
    remembered: int = 48
    """Evaluations before a drift among which the level is searched from which it rose: as many as the windows
    that detect one compare."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRise:
    """An evaluation loss above its level; `start` and `detected` are indices of the attempt's evaluations.

    `width` is the number of evaluations it took to detect it, `sigma` their noise, `known` the number of
    differences the noise was measured on.
    """

    attempt: int
    start: int
    detected: int
    width: int
    baseline: float
    sigma: float
    known: int
    strength: float
    at_restart: bool


@dataclass(frozen=True, kw_only=True)
class RiseOutcome:
    """How a rise developed: indices of the highest evaluation, of the first that is back and of the one that
    confirmed it (both None while none is); and the kind and severity, settled at the index `classified`."""

    peak: int
    back: int | None
    confirmed: int | None
    kind: Kind
    severity: Severity
    classified: int | None


def find_return(rise: EvaluationRise, value: FloatArray, thresholds: RiseOutcomeThresholds) -> int | None:
    """The first evaluation of an attempt's [n] that is back at the level from before, with the next one."""
    height = float(value[rise.start : rise.detected + 1].max()) - rise.baseline
    tolerance = max(thresholds.near_sigmas * rise.sigma, thresholds.near_height * height)
    near = rise.baseline + min(tolerance, 2 * thresholds.near_sigmas * rise.sigma)
    first = rise.detected + 1
    pair_means = (value[first:-1] + value[first + 1 :]) / 2
    hits = np.flatnonzero((pair_means <= near) & (value[first:-1] <= near + rise.sigma))
    return first + int(hits[0]) if len(hits) else None


def determine_outcome(
    rise: EvaluationRise,
    step: IntArray,
    value: FloatArray,
    until: int,
    fast_steps: int,
    thresholds: RiseOutcomeThresholds,
) -> RiseOutcome:
    """How a rise developed over its attempt's evaluations [n]; at index `until` another one began."""
    back = find_return(rise, value, thresholds)
    confirmed = None if back is None else back + 1
    high = value[rise.start : until if back is None else min(back, until)]
    kind = _kind(rise, step, high, back, fast_steps, thresholds)
    return RiseOutcome(
        peak=rise.start + int(np.argmax(high)),
        back=back,
        confirmed=confirmed,
        kind=kind,
        severity=_severity(kind, back),
        classified=rise.detected if kind is Kind.RESUME_ARTIFACT else confirmed,
    )


@dataclass(frozen=True, kw_only=True)
class DriftCourse:
    """From what level and after which evaluation a drift rose, and the level that it reached."""

    last_low: int
    low: float
    high: float


def drift_course(
    rise: EvaluationRise, value: FloatArray, until: int, thresholds: RiseOutcomeThresholds
) -> DriftCourse:
    """The course of a drift over its attempt's evaluations [n], up to the index `until`.

    It was detected against evaluations that it had raised already: it began after the lowest of the latest.
    A level is that of some evaluations, so that a lone one is not it.
    """
    size = thresholds.drift
    first = max(rise.start - thresholds.remembered, 0)
    before, since = value[first : rise.start], value[rise.start : until]
    last_low, low = max(rise.start - 1, 0), rise.baseline
    if len(before) > size:
        means = sliding_window_view(before, size).mean(axis=1)
        lowest = int(np.argmin(means))
        if rise.baseline - float(means[lowest]) > rise.sigma:
            last_low, low = first + lowest + size - 1, float(means[lowest])
    high = float(since.max())
    if len(since) >= size:
        high = float(row_medians(sliding_window_view(since, size)).max())
    return DriftCourse(last_low=last_low, low=low, high=high)


def _kind(
    rise: EvaluationRise,
    step: IntArray,
    high: FloatArray,
    back: int | None,
    fast_steps: int,
    thresholds: RiseOutcomeThresholds,
) -> Kind:
    if rise.at_restart:
        return Kind.RESUME_ARTIFACT
    excess = high - rise.baseline
    half_peak = int(np.argmax(excess >= thresholds.half_height * (high.max() - rise.baseline)))
    if rise.width >= thresholds.drift or half_peak >= thresholds.slow_rise:
        return Kind.DIVERGENCE
    if back is not None:
        # the loss may have come back with the first step after the previous evaluation
        duration = int(step[back - 1] - step[rise.start]) + 1
        return Kind.SPIKE_FAST if duration < fast_steps else Kind.SPIKE_SLOW
    elapsed = int(step[rise.start + len(high) - 1] - step[rise.start])
    if len(high) >= thresholds.settled and elapsed >= thresholds.settled_steps:
        return Kind.SPIKE_UNRECOVERED
    return Kind.SPIKE_FAST if elapsed < fast_steps else Kind.SPIKE_SLOW


def _severity(kind: Kind, back: int | None) -> Severity:
    if kind in (Kind.DIVERGENCE, Kind.SPIKE_UNRECOVERED) and back is None:
        return Severity.CRITICAL if kind is Kind.DIVERGENCE else Severity.WARNING
    return Severity.INFO if kind is Kind.SPIKE_FAST and back is not None else Severity.WARNING
