"""Spikes and divergence: excursions of the loss, named by how they rise and whether they come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from holter.detectors.excursion import Excursion, Stretch, excursions_of, stretches_of
from holter.detectors.tuning import Tuning
from holter.metrics import Role, role_of
from holter.types import Finding, Kind, RunData, Series, Severity

_SEVERITY = {
    Kind.SPIKE_FAST: Severity.INFO,
    Kind.SPIKE_SLOW: Severity.WARNING,
    Kind.SPIKE_UNRECOVERED: Severity.CRITICAL,
    Kind.DIVERGENCE: Severity.CRITICAL,
    Kind.RESUME_ARTIFACT: Severity.WARNING,
}
_UNRECOVERED_STEPS = 500
_SLOW_RISE_STEPS = 60


@dataclass(frozen=True, kw_only=True)
class SpikeDetector:
    """Finds where a training loss leaves its trend upwards."""

    tuning: Tuning = Tuning()
    name: ClassVar[str] = "spike"
    kinds: ClassVar[frozenset[Kind]] = frozenset(_SEVERITY)

    def detect(self, run: RunData) -> Iterator[Finding]:
        """Findings on every training loss, and on those of single datasets."""
        for series in run.series.values():
            if role_of(series.key) is Role.LOSS:
                yield from self._in(series)

    def _in(self, series: Series) -> Iterator[Finding]:
        stretches = stretches_of(series.attempt, series.step, series.value)
        by_attempt = {stretch.attempt: stretch for stretch in stretches}
        for excursion in excursions_of(stretches, sensitivity=self.tuning.sensitivity):
            yield self._speak(series, by_attempt[excursion.attempt], excursion)

    def _speak(self, series: Series, stretch: Stretch, excursion: Excursion) -> Finding:
        step = stretch.step[excursion.start :]
        returns = excursion.returns
        kind = self._kind(excursion, stretch)
        back = None if returns.confirmed is None or returns.back is None else int(step[returns.back])
        peak = float(stretch.value[excursion.start + returns.peak])
        return Finding(
            kind=kind,
            metric=series.key.metric,
            labels=series.key.labels,
            attempt=excursion.attempt,
            start_step=int(step[0]),
            detected_step=int(stretch.step[excursion.detected]),
            peak_step=int(step[returns.peak]),
            end_step=back,
            severity=_SEVERITY[kind],
            confidence=min(0.99, 1 - 0.5 / max(excursion.strength, 1.0) ** 2),
            summary=f"Loss rose from {excursion.baseline:.3g} to {peak:.3g} at step {step[0]}.",
            advice="",
            evidence={"baseline": excursion.baseline, "peak": peak, "noise": excursion.noise.sigma},
        )

    def _kind(self, excursion: Excursion, stretch: Stretch) -> Kind:
        step = stretch.step[excursion.start :]
        returns = excursion.returns
        if excursion.attempt != 0 and excursion.start < 50:
            return Kind.RESUME_ARTIFACT
        if returns.back is not None and returns.confirmed is not None:
            lasted = int(step[returns.back] - step[0])
            return Kind.SPIKE_FAST if lasted < self.tuning.fast_recovery_steps else Kind.SPIKE_SLOW
        elapsed = int(step[returns.last] - step[0])
        if returns.half >= 8 and step[returns.half] - step[0] >= _SLOW_RISE_STEPS:
            return Kind.DIVERGENCE
        if elapsed < self.tuning.fast_recovery_steps:
            return Kind.SPIKE_FAST
        return Kind.SPIKE_UNRECOVERED if elapsed >= _UNRECOVERED_STEPS else Kind.SPIKE_SLOW
