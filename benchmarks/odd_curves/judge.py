"""Compares findings with what a curve's family says: rightly told, missed, misnamed, false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from holter.types import Finding, RunData, Series, SeriesKey, Severity
from odd_curves.curve import OddCurve, PlantedEvent


@dataclass
class CurveScore:
    """Counts over the runs of one or more families; `details` has a line for each error."""

    runs: int = 0
    events: int = 0
    right: int = 0
    missed: int = 0
    misnamed: int = 0
    warnings: int = 0
    critical: int = 0
    healthy_runs: int = 0
    healthy_series: int = 0
    healthy_warnings: int = 0
    healthy_critical: int = 0
    details: list[str] = field(default_factory=list)

    def add(self, other: CurveScore) -> None:
        """Add the counts of another score."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def as_run(curve: OddCurve) -> RunData:
    """The run as detectors read it."""
    series = {}
    for each in curve.series:
        n, key = len(each.step), SeriesKey(each.metric, each.labels)
        series[key] = Series(
            key=key,
            attempt=np.zeros(n, dtype=np.int64) if each.attempt is None else each.attempt.astype(np.int64),
            step=each.step.astype(np.int64),
            time=np.full(n, np.nan) if each.time is None else each.time,
            value=each.value.astype(np.float64),
        )
    return RunData(series=series)


def judge(curve: OddCurve, findings: Sequence[Finding]) -> CurveScore:
    """The score of one run. Each finding matches one event at most; information is never a false alarm."""
    score = CurveScore(runs=1, events=len(curve.events))
    left = list(findings)
    for event in curve.events:
        in_window = [finding for finding in left if _is_within(event, finding)]
        right = [finding for finding in in_window if finding.kind.value in event.kinds]
        wrong = [finding for finding in in_window if finding.severity is not Severity.INFO]
        if right:
            score.right += 1
            left.remove(right[0])
        elif wrong:
            score.misnamed += 1
            left.remove(wrong[0])
            score.details.append(f"misnamed {sorted(event.kinds)} at {event.first}: {_describe(wrong[0])}")
        else:
            score.missed += 1
            score.details.append(f"missed {sorted(event.kinds)} at {event.first}..{event.last}")
    false = [
        finding
        for finding in left
        if finding.severity is not Severity.INFO and not _is_allowed(curve, finding)
    ]
    score.critical = sum(finding.severity is Severity.CRITICAL for finding in false)
    score.warnings = len(false) - score.critical
    if not curve.events:
        score.healthy_runs, score.healthy_series = 1, len(curve.series)
        score.healthy_warnings, score.healthy_critical = score.warnings, score.critical
    score.details += [f"false {finding.severity.value}: {_describe(finding)}" for finding in false]
    return score


def _is_within(event: PlantedEvent, finding: Finding) -> bool:
    about = not event.metrics or str(finding.metric) in event.metrics
    return about and event.first <= finding.start_step <= event.last


def _is_allowed(curve: OddCurve, finding: Finding) -> bool:
    return any(
        (not allowed.kinds or finding.kind.value in allowed.kinds)
        and allowed.first <= finding.start_step <= allowed.last
        and (allowed.critical or finding.severity is not Severity.CRITICAL)
        for allowed in curve.allowed
    )


def _describe(finding: Finding) -> str:
    return (
        f"{finding.kind.value} ({finding.severity.value}) of {finding.metric} at {finding.start_step},"
        f" detected {finding.detected_step}, end {finding.end_step}"
    )


def total(scores: Iterable[CurveScore]) -> CurveScore:
    """The sum of scores."""
    result = CurveScore()
    for score in scores:
        result.add(score)
    return result
