"""The one place where a finding on a signal next to the loss is built."""

from __future__ import annotations

from dataclasses import dataclass

from holter.types import Finding, Kind, Series, Severity


@dataclass(frozen=True, kw_only=True)
class SignalEvent:
    """What happened to a signal, in rows of its series: `end` is the first row after it, None while it lasts.

    `before` is the usual value, `extreme` the highest (of a divergence) or lowest value since.
    """

    kind: Kind
    start: int
    detected: int
    extreme_row: int
    end: int | None
    before: float
    extreme: float
    noise: float | None = None


def build_signal_finding(
    series: Series,
    event: SignalEvent,
    *,
    confidence: float,
    summary: str,
    advice: str,
    severity: Severity = Severity.WARNING,
) -> Finding:
    """The finding of an event of a signal, classified when it is detected."""
    extreme = "peak" if event.kind is Kind.DIVERGENCE else "lowest"
    evidence = {"baseline": event.before, extreme: event.extreme}
    if event.noise is not None:
        evidence["noise"] = event.noise
    detected = int(series.step[event.detected])
    return Finding(
        kind=event.kind,
        metric=series.key.metric,
        labels=series.key.labels,
        attempt=int(series.attempt[event.start]),
        start_step=int(series.step[event.start]),
        peak_step=int(series.step[event.extreme_row]),
        end_step=None if event.end is None else int(series.step[event.end]),
        detected_step=detected,
        classified_step=detected,
        severity=severity,
        confidence=confidence,
        summary=summary,
        advice=advice,
        evidence=evidence,
    )
