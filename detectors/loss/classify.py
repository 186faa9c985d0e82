"""What kind of event an excursion is, as far as is known: how it began, how it rose, whether it is over."""

from __future__ import annotations

from dataclasses import dataclass

from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.recovery import DRIFT, SETTLED_STEPS, rose_slowly
from holter.detectors.loss.excursions.segment import Stretch
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
_LONE = 1
"""Points of an outlier."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A kind with what follows from it; `classified_step` is None while the kind may still change."""

    kind: Kind
    severity: Severity
    classified_step: int | None
    recovery_steps: int | None


def verdict_on(excursion: Excursion, stretch: Stretch, tuning: Tuning) -> Verdict:
    """The kind of an excursion at the last point seen."""
    step = stretch.step[excursion.start :]
    returns = excursion.returns
    elapsed = int(step[returns.last] - step[0])
    kind, settled, lasted = _provisional(excursion, stretch, tuning, elapsed), None, None
    if returns.back is not None and returns.confirmed is not None:
        lasted = int(step[returns.back] - step[0])
        # it may have come back with the first step after the row before
        between = int(step[returns.back] - step[max(returns.back - 1, 0)]) - 1
        is_fast = lasted - max(between, 0) < tuning.fast_recovery_steps
        kind = Kind.SPIKE_FAST if is_fast else Kind.SPIKE_SLOW
        settled = int(step[returns.confirmed])
    if _is_outlier(excursion):
        kind = Kind.OUTLIER_BATCH
    if excursion.resumed:
        kind, settled = Kind.RESUME_ARTIFACT, int(stretch.step[excursion.detected])
    severity = _SEVERITY[kind]
    if kind is Kind.SPIKE_FAST and lasted is None:
        severity = Severity.WARNING
    return Verdict(kind=kind, severity=severity, classified_step=settled, recovery_steps=lasted)


def _is_outlier(excursion: Excursion) -> bool:
    """Whether it is, as far as is known, one point that the noise explains, with the next one back."""
    returns = excursion.returns
    first_back = returns.last if returns.back is None else returns.back
    return excursion.explained and first_back <= _LONE


def _provisional(excursion: Excursion, stretch: Stretch, tuning: Tuning, elapsed: int) -> Kind:
    step = stretch.step[excursion.start :]
    if excursion.width >= DRIFT or rose_slowly(step, half=excursion.returns.half):
        return Kind.DIVERGENCE
    if elapsed < tuning.fast_recovery_steps:
        return Kind.SPIKE_FAST
    return Kind.SPIKE_UNRECOVERED if elapsed >= SETTLED_STEPS else Kind.SPIKE_SLOW
