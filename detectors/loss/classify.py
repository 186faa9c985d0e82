"""The kind of event that an excursion is, as far as is known: by its onset, its rise and its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.excursion_points import RecoveryThresholds
from holter.detectors.loss.excursions.rise_speed import is_slow_rise, is_still_rising
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.robust_statistics import mad_sigma, median
from holter.tuning import Tuning
from holter.types import FloatArray, Kind, Severity

_SEVERITY = {
    Kind.OUTLIER_BATCH: Severity.INFO,
    Kind.SPIKE_FAST: Severity.INFO,
    Kind.SPIKE_SLOW: Severity.WARNING,
    Kind.SPIKE_UNRECOVERED: Severity.CRITICAL,
    Kind.DIVERGENCE: Severity.CRITICAL,
    Kind.RESUME_ARTIFACT: Severity.WARNING,
}
KINDS = frozenset(_SEVERITY)
_SEVERE = frozenset({Kind.SPIKE_UNRECOVERED, Kind.DIVERGENCE})
"""Kinds that begin as warnings: they are critical once the loss has stayed high without decaying."""
MEDIAN_SIGMAS = 2.0
"""Sigmas of a point that the median of many must be above their level to be more than a wave of it."""
MEDIAN_ERRORS = 4.0
"""Standard errors of a median beyond which noise is no explanation: one in 30,000 by chance."""


@dataclass(frozen=True, kw_only=True)
class Classification:
    """A kind and its severity; `classified_step` is None while the kind may still change.

    `recovery_steps` is the duration of an excursion that is over.
    """

    kind: Kind
    severity: Severity
    classified_step: int | None
    recovery_steps: int | None


def classify(
    excursion: Excursion,
    segment: AttemptSegment,
    tuning: Tuning,
    thresholds: RecoveryThresholds,
    *,
    settled_at: int | None,
    is_lost: bool = False,
    is_expected: bool = False,
    may_last: bool = False,
) -> Classification:
    """The classification of an excursion at the last point seen.

    It is final from point `settled_at` of the segment on; None: later rises may still belong to the event.
    `is_lost`: the loss became NaN or infinite while it was high, and has stayed so.
    `is_expected`: a rise is information unless it lasts, or even then if it `may_last`.
    """
    step = segment.step[excursion.start :]
    recovery = excursion.recovery
    kind = _kind_while_lasting(excursion, segment, tuning, thresholds)
    if is_lost and kind is not Kind.DIVERGENCE:
        kind = Kind.SPIKE_UNRECOVERED
    classified_step, duration = None, None
    if recovery.back is not None and recovery.confirmed is not None:
        duration = int(step[recovery.back] - step[0])
        is_fast = _is_fast(segment, excursion.start, excursion.start + recovery.back, tuning)
        if not recovery.fell_past:
            kind = Kind.SPIKE_FAST if is_fast else Kind.SPIKE_SLOW
        elif kind is not Kind.DIVERGENCE:
            kind = Kind.SPIKE_UNRECOVERED
        classified_step = None if settled_at is None else int(segment.step[settled_at])
    if excursion.is_outlier:
        kind = Kind.OUTLIER_BATCH
    if excursion.at_restart:
        kind, classified_step = Kind.RESUME_ARTIFACT, int(segment.step[excursion.detected])
    severity = _SEVERITY[kind]
    if kind in _SEVERE and recovery.lasting_at is None:
        severity = Severity.WARNING
    if duration is None and kind is Kind.SPIKE_FAST and recovery.lull is None:
        severity = Severity.INFO if _is_lone(excursion, segment, thresholds) else Severity.WARNING
    if kind is Kind.SPIKE_SLOW and not _costs_progress(excursion, segment):
        severity = Severity.INFO
    if not _is_certain(excursion, segment, thresholds):
        severity = Severity.INFO
    if is_expected and (may_last or recovery.lasting_at is None) and kind is not Kind.RESUME_ARTIFACT:
        severity = Severity.INFO
    return Classification(
        kind=kind, severity=severity, classified_step=classified_step, recovery_steps=duration
    )


def _is_lone(excursion: Excursion, segment: AttemptSegment, thresholds: RecoveryThresholds) -> bool:
    """Whether a single point was high, though not very, and most of those after it are not, as far as there
    are any: the next ones show whether it was one batch."""
    if excursion.width > 1 or excursion.at_restart or excursion.strength >= thresholds.lone_strength:
        return False
    later = segment.value[excursion.detected + 1 : excursion.start + excursion.recovery.last_seen + 1]
    return not len(later) or median(later) - excursion.baseline <= MEDIAN_SIGMAS * excursion.noise.sigma


def _is_certain(excursion: Excursion, segment: AttemptSegment, thresholds: RecoveryThresholds) -> bool:
    """Whether a rise is more than what noise, or a burst of it, makes now and then: by its evidence, or as
    most of several points are high, compared with the points just before it, too. A level that rises slowly,
    as with a cyclic learning rate, is above its baseline with and without a spike, and does not come back."""
    is_wide, count = excursion.width > 1, thresholds.compared_points
    if excursion.at_restart:
        return True
    is_strong = excursion.strength >= thresholds.certain_strength
    if _may_begin_an_average(excursion, segment, thresholds, is_strong=is_strong):
        return False
    if is_strong:
        return True
    if is_wide and excursion.recovery.lasting_at is not None:
        return True
    back = excursion.recovery.back
    start = excursion.start
    end = start + (excursion.recovery.last_seen + 1 if back is None else back)
    if end - start <= thresholds.near_points:
        return back is not None
    if back is not None and back <= thresholds.compared_points:
        # what decays is mostly lower than at first, and its decay is no noise
        return median(segment.value[start:end]) - excursion.baseline > excursion.noise.sigma
    before = segment.value[max(start - thresholds.settled_points, 0) : start]
    level = max(excursion.baseline, median(before)) if len(before) else excursion.baseline
    # a slow rise may begin long before it is high
    parts = [
        segment.value[start : min(start + count, end)],
        *([segment.value[max(end - count, start) : end]] * is_wide),
    ]
    return any(median(part) - level > _least_rise(part, excursion.noise.sigma) for part in parts)


def _may_begin_an_average(
    excursion: Excursion, segment: AttemptSegment, thresholds: RecoveryThresholds, *, is_strong: bool
) -> bool:
    """Whether a rise of a run that has learned nothing yet may be a moving average that began with a low
    value, and moves from there to its level: it was rising already, or hardly stands out."""
    start, sigma = excursion.start, excursion.noise.sigma
    if excursion.known is None or excursion.known >= thresholds.unlearned_points:
        return False
    if excursion.progress > sigma or start < thresholds.near_points:
        return False
    height = median(segment.value[start : start + excursion.recovery.last_seen + 1]) - excursion.baseline
    if height >= thresholds.average_share * abs(excursion.baseline):
        return False
    if not is_strong and height <= thresholds.average_sigmas * sigma:
        return True
    risen = median(segment.value[start // 2 : start]) - median(segment.value[: start // 2])
    first = median(segment.value[start : excursion.detected + 1]) - excursion.baseline
    return risen >= thresholds.half_height * first


def _least_rise(points: FloatArray, sigma: float) -> float:
    """The rise of the median of points [n >= 1] that a healthy run hardly makes: two sigmas, or more where
    the points themselves spread, as in a burst of noise; the standard error of a median of normal values
    (Kendall and Stuart, The Advanced Theory of Statistics, 10.9) is 1.25 of theirs by the root of their
    number."""
    spread = mad_sigma(points, median(points))
    return float(max(MEDIAN_SIGMAS * sigma, MEDIAN_ERRORS * 1.25 * spread / np.sqrt(len(points))))


def _costs_progress(excursion: Excursion, segment: AttemptSegment) -> bool:
    """Whether the loss was higher after a single point that was: outliers of heavy-tailed noise may follow
    one another for as long as a slow return takes."""
    last = excursion.recovery.last_seen if excursion.recovery.back is None else excursion.recovery.back
    later = segment.value[excursion.detected + 1 : excursion.start + last]
    if excursion.width > 1 or not len(later):
        return True
    return median(later) - excursion.baseline > excursion.noise.sigma


def _is_fast(segment: AttemptSegment, start: int, back: int, tuning: Tuning) -> bool:
    """Whether a loss that is back at a point may have been back within the limit."""
    before, first, last = segment.step[[max(back - 1, start), start, back]].tolist()
    # the loss may have come back with the first step after the previous row
    unlogged = max(last - before - segment.unit, 0)
    return segment.optimizer_steps(last - first - unlogged) < tuning.fast_recovery_steps


def _kind_while_lasting(
    excursion: Excursion, segment: AttemptSegment, tuning: Tuning, thresholds: RecoveryThresholds
) -> Kind:
    step, recovery = segment.clock_from(excursion.start), excursion.recovery
    is_slow = is_slow_rise(step, thresholds, half_peak=recovery.half_peak)
    if not is_slow and recovery.last_seen <= 2 * thresholds.slow_rise_steps:
        rise = segment.value[excursion.start : excursion.start + recovery.last_seen + 1]
        is_slow = is_still_rising(rise - excursion.baseline, thresholds)
    if excursion.width >= thresholds.drift_points or is_slow:
        return Kind.DIVERGENCE
    # points that are back, though not for long enough to be certain, do not count
    until = recovery.last_seen if recovery.lull is None else recovery.lull
    if recovery.lull is None and (
        _lasts(excursion, segment, thresholds) or _stays_high(excursion, segment, thresholds)
    ):
        return Kind.SPIKE_UNRECOVERED
    is_fast = _is_fast(segment, excursion.start, excursion.start + until, tuning)
    return Kind.SPIKE_FAST if is_fast else Kind.SPIKE_SLOW


def _lasts(excursion: Excursion, segment: AttemptSegment, thresholds: RecoveryThresholds) -> bool:
    """Whether a loss has been high for as long as one that does not come back; in a young run for half as
    long as all that was known before."""
    step, points = segment.clock_from(excursion.start), excursion.recovery.last_seen
    least_steps, least_points = float(thresholds.settled_steps), float(thresholds.settled_points)
    if excursion.known is not None:
        known = max(thresholds.young_share * excursion.known, thresholds.near_points)
        spacing = segment.optimizer_steps(segment.steps_since_previous(excursion.start))
        least_steps, least_points = min(least_steps, known * spacing), min(least_points, known)
    return points >= least_points and bool(step[points] - step[0] >= least_steps)


def _stays_high(excursion: Excursion, segment: AttemptSegment, thresholds: RecoveryThresholds) -> bool:
    """Whether a loss that has been high for some time comes down too slowly to be back after as many steps as
    a spike may take: it has settled, however few steps the log has shown since."""
    last = excursion.recovery.last_seen
    if last + 1 < thresholds.settled_points:
        return False
    step = segment.clock_from(excursion.start)[: last + 1]
    excess = segment.value[excursion.start : excursion.start + last + 1] - excursion.baseline
    _, second, third, fourth = np.array_split(excess, 4)
    half = float(step[-1] - step[0]) / 2
    left = thresholds.tolerance_height ** (half / thresholds.settled_steps)
    least = max(left, thresholds.flat_share_of_half) * median(second)
    level = median(fourth)
    error = 1.25 * mad_sigma(fourth, level) * np.sqrt(2 / len(fourth))
    clearly = level - thresholds.stay_errors * error
    return bool(clearly >= least > 0 and level >= thresholds.flat_share * median(third))
