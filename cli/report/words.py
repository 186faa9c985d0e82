"""The words of a report: what a run's verdict is, where a finding lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holter.cli.report import Report
from holter.detectors import wall_clock
from holter.detectors.findings import title_of
from holter.detectors.findings.finding_type import in_sentence
from holter.plurals import counted, verb
from holter.types import Diagnostic, Finding, Kind, Labels, Severity

_NAMED = 8
"""Attempts that a remark names."""
_MARK = {Severity.CRITICAL: "▲", Severity.WARNING: "●", Severity.INFO: "○"}


def mark(finding: Finding | Diagnostic) -> str:
    """A sign for the severity, so that colour never stands alone."""
    return _MARK[finding.severity]


def kind(finding: Finding) -> str:
    """The kind in the words of the pages."""
    return in_sentence(title_of(finding.kind))


def together(remarks: Iterable[Diagnostic], *, several: bool) -> list[tuple[Diagnostic, str]]:
    """Remarks with whose they are; the same words on several launches are one, in the place of the first.

    `several`: the run has several launches, so that it matters which one.
    """
    found: dict[tuple[str, Labels, Severity, str, str], list[Diagnostic]] = {}
    for one in remarks:
        found.setdefault((one.code, one.labels, one.severity, one.summary, one.advice), []).append(one)
    return [(same[0], _whose(same, several=several)) for same in found.values()]


def _whose(same: Sequence[Diagnostic], *, several: bool) -> str:
    attempts = ", ".join(str(one.attempt) for one in same[:_NAMED]) + (" ..." if len(same) > _NAMED else "")
    when = [f"attempts {attempts}" if len(same) > 1 else f"attempt {attempts}"] if several else []
    said = same[0].summary  # a host that its sentence names needs no second word
    labels = [f"{name} {value}" for name, value in same[0].labels if name != "host" or value not in said]
    return ", ".join([*when, *labels])


def place(finding: Finding) -> str:
    """Where it lies; the attempt only where there may be several."""
    start, end = f"{finding.start_step:,}", finding.end_step
    if _by_clock(finding):
        moment = wall_clock.format_wall_time(finding.start_step / 1e3)
        return f"from {moment} on" if end is None else f"at {moment}"
    if finding.kind is Kind.STALL:
        where = f"after step {start}"
    elif end is None:
        where = f"from step {start} on"
    else:
        where = f"step {start}" if end <= finding.start_step else f"steps {start} to {end:,}"
    return where if finding.attempt == 0 else f"{where}, attempt {finding.attempt}"


def _by_clock(finding: Finding) -> bool:
    """Whether its steps are milliseconds since 1970, as where only machines were watched."""
    at = finding.evidence.get("wall_time")
    return isinstance(at, float) and abs(finding.start_step - at * 1e3) <= 1


def verdict(report: Report) -> str:
    """How large the run is, and how many findings it has."""
    if not report.points:
        return "no step yet" if report.data.config else "nothing readable"
    size = f"{counted(report.attempts, 'attempt')}, {counted(report.points, 'point')}"
    if not report.findings:
        return f"{size}: nothing found{_remarked(report)}"
    words = counted(len(report.findings), "finding")
    lasting = sum(finding.end_step is None for finding in report.findings)
    return f"{size}: {words}{severities(report)}" + (f", {lasting} not over" if lasting else "")


def _remarked(report: Report) -> str:
    """How many remarks warn: nothing found is not all there is to say."""
    warning = [one for one in report.remarks if one.severity is not Severity.INFO]
    count = len(together(warning, several=report.attempts > 1))
    return f", {counted(count, 'remark')} on the set-up" if count else ""


def severities(report: Report) -> str:
    """How grave they are, where that takes counting."""
    count = Counter(finding.severity for finding in report.findings)
    warnings = verb(count[Severity.WARNING], "warning", "warnings")
    named = {Severity.CRITICAL: "critical", Severity.WARNING: warnings, Severity.INFO: "for information"}
    parts = [f"{count[one]} {word}" for one, word in named.items() if count[one]]
    return f" ({', '.join(parts)})" if len(parts) > 1 else ""
