"""The kind of event that an excursion is, as far as is known: by its onset, its rise and its end."""

from __future__ import annotations

from dataclasses import dataclass

from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.recovery import RecoveryThresholds, is_slow_rise
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.tuning import Tuning
from holter.types import Kind, Severity

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
    is_expected: bool = False,
    may_last: bool = False,
) -> Classification:
    """The classification of an excursion at the last point seen.

    It is final from point `settled_at` of the segment on; None: later rises may still belong to the event.
    `is_expected`: a rise is information unless it lasts, or even then if it `may_last`.
    """
    step = segment.step[excursion.start :]
    recovery = excursion.recovery
    kind = _kind_while_lasting(excursion, segment, tuning, thresholds)
    classified_step, duration = None, None
    if recovery.back is not None and recovery.confirmed is not None:
        duration = int(step[recovery.back] - step[0])
        is_fast = _is_fast(segment, excursion.start, excursion.start + recovery.back, tuning)
        kind = Kind.SPIKE_FAST if is_fast else Kind.SPIKE_SLOW
        classified_step = None if settled_at is None else int(segment.step[settled_at])
    if excursion.is_outlier:
        kind = Kind.OUTLIER_BATCH
    if excursion.at_restart:
        kind, classified_step = Kind.RESUME_ARTIFACT, int(segment.step[excursion.detected])
    severity = _SEVERITY[kind]
    if duration is None and kind in _SEVERE and recovery.lasting_at is None:
        severity = Severity.WARNING
    if duration is None and kind is Kind.SPIKE_FAST and recovery.lull is None:
        severity = Severity.WARNING
    if is_expected and (may_last or recovery.lasting_at is None) and kind is not Kind.RESUME_ARTIFACT:
        severity = Severity.INFO
    return Classification(
        kind=kind, severity=severity, classified_step=classified_step, recovery_steps=duration
    )


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
    if excursion.width >= thresholds.drift_points or is_slow:
        return Kind.DIVERGENCE
    # points that are back, though not for long enough to be certain, do not count
    until = recovery.last_seen if recovery.lull is None else recovery.lull
    if _is_fast(segment, excursion.start, excursion.start + until, tuning):
        return Kind.SPIKE_FAST
    lasts = step[until] - step[0] >= thresholds.settled_steps and until >= thresholds.settled_points
    return Kind.SPIKE_UNRECOVERED if lasts and recovery.lull is None else Kind.SPIKE_SLOW
