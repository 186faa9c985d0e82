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
    excursion: Excursion, segment: AttemptSegment, tuning: Tuning, thresholds: RecoveryThresholds
) -> Classification:
    """The classification of an excursion at the last point seen."""
    step = segment.step[excursion.start :]
    recovery = excursion.recovery
    kind = _kind_while_lasting(excursion, segment, tuning, thresholds)
    classified_step, duration = None, None
    if recovery.back is not None and recovery.confirmed is not None:
        duration = int(step[recovery.back] - step[0])
        # the loss may have come back with the first step after the previous row
        unlogged = int(step[recovery.back] - step[max(recovery.back - 1, 0)]) - 1
        is_fast = duration - max(unlogged, 0) < tuning.fast_recovery_steps
        kind = Kind.SPIKE_FAST if is_fast else Kind.SPIKE_SLOW
        classified_step = int(step[recovery.confirmed])
    if _is_outlier(excursion):
        kind = Kind.OUTLIER_BATCH
    if excursion.at_restart:
        kind, classified_step = Kind.RESUME_ARTIFACT, int(segment.step[excursion.detected])
    severity = _SEVERITY[kind]
    if kind is Kind.SPIKE_FAST and duration is None:
        severity = Severity.WARNING
    return Classification(
        kind=kind, severity=severity, classified_step=classified_step, recovery_steps=duration
    )


def _is_outlier(excursion: Excursion) -> bool:
    """Whether it is, as far as is known, a single point that the noise explains, with the next one back."""
    recovery = excursion.recovery
    first_back = recovery.last_seen if recovery.back is None else recovery.back
    return excursion.explained and first_back <= 1


def _kind_while_lasting(
    excursion: Excursion, segment: AttemptSegment, tuning: Tuning, thresholds: RecoveryThresholds
) -> Kind:
    step, recovery = segment.step[excursion.start :], excursion.recovery
    is_slow = is_slow_rise(step, thresholds, half_peak=recovery.half_peak)
    if excursion.width >= thresholds.drift_points or is_slow:
        return Kind.DIVERGENCE
    elapsed = int(step[recovery.last_seen] - step[0])
    if elapsed < tuning.fast_recovery_steps:
        return Kind.SPIKE_FAST
    return Kind.SPIKE_UNRECOVERED if elapsed >= thresholds.settled_steps else Kind.SPIKE_SLOW
