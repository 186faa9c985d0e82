"""The words of a report: what a run's verdict is, where a finding lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from holter.detectors.figures import figure
from holter.report import Report
from holter.types import Finding, Kind, Severity

_MARK = {Severity.CRITICAL: "▲", Severity.WARNING: "●", Severity.INFO: "○"}

_TITLE = {
    Kind.SPIKE_FAST: "fast spike",
    Kind.SPIKE_SLOW: "slow spike",
    Kind.SPIKE_UNRECOVERED: "spike, not recovered",
    Kind.NONFINITE: "NaN or infinity",
    Kind.COMM_SLOWDOWN: "slow communication",
    Kind.DESYNC: "ranks out of step",
    Kind.HIDDEN_NONFINITE: "hidden NaN",
    Kind.GPU_FAULT: "GPU fault",
}


def mark(finding: Finding) -> str:
    """A sign for the severity, so that colour never stands alone."""
    return _MARK[finding.severity]


def kind(finding: Finding) -> str:
    """The kind in the words of the pages."""
    return _TITLE.get(finding.kind, finding.kind.value.replace("_", " "))


def evidence(finding: Finding) -> list[tuple[str, str]]:
    """The numbers it rests on, by name; what says nothing is left out."""
    shown = ((name.replace("_", " "), _shown(value)) for name, value in finding.evidence.items())
    return [(name, text) for name, text in shown if text]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, Mapping):
        return _told(value)
    if isinstance(value, list | tuple):
        inner = [_shown(one) for one in value]
        return ("; " if any(isinstance(one, Mapping) for one in value) else ", ").join(inner)
    return "" if value is None else str(value)


def _told(values: Mapping[str, object]) -> str:
    """What another series did, as a sentence; anything else by name."""
    if {"what", "before", "value", "step"} <= values.keys():
        change = f"{_shown(values['before'])} to {_shown(values['value'])}"
        return f"{str(values['what']).replace('_', ' ')} from {change} at step {_shown(values['step'])}"
    return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in values.items())


def place(finding: Finding) -> str:
    """Where it lies; the attempt only where there may be several."""
    start, end = f"{finding.start_step:,}", finding.end_step
    if finding.kind is Kind.STALL:
        where = f"after step {start}"
    elif end is None:
        where = f"from step {start} on"
    else:
        where = f"step {start}" if end <= finding.start_step else f"steps {start} to {end:,}"
    return where if finding.attempt == 0 else f"{where}, attempt {finding.attempt}"


def verdict(report: Report) -> str:
    """How large the run is, and how many findings it has."""
    if not report.points:
        return "nothing readable"
    attempts = "1 attempt" if report.attempts == 1 else f"{report.attempts} attempts"
    size = f"{attempts}, {report.points:,} points"
    if not report.findings:
        return f"{size}: nothing found"
    words = "1 finding" if len(report.findings) == 1 else f"{len(report.findings)} findings"
    lasting = sum(finding.end_step is None for finding in report.findings)
    return f"{size}: {words}{severities(report)}" + (f", {lasting} not over" if lasting else "")


def severities(report: Report) -> str:
    """How grave they are, where that takes counting."""
    count = Counter(finding.severity for finding in report.findings)
    warnings = "warning" if count[Severity.WARNING] == 1 else "warnings"
    named = {Severity.CRITICAL: "critical", Severity.WARNING: warnings, Severity.INFO: "for information"}
    parts = [f"{count[one]} {word}" for one, word in named.items() if count[one]]
    return f" ({', '.join(parts)})" if len(parts) > 1 else ""
