"""Text that several report formats share: severity signs, titles, positions, headlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from holter.cli.report import Report
from holter.detectors.findings import title_of, title_with_causes
from holter.detectors.findings.finding_type import in_sentence
from holter.detectors.wall_clock import format_wall_time
from holter.plurals import counted, verb
from holter.types import Diagnostic, Finding, Kind, Labels, Severity

_MAX_ATTEMPTS = 8
"""Attempts that are named with a diagnostic."""
_SIGNS = {Severity.CRITICAL: "▲", Severity.WARNING: "●", Severity.INFO: "○"}


def severity_sign(finding: Finding | Diagnostic) -> str:
    """A character for the severity, so that it is never shown by colour alone."""
    return _SIGNS[finding.severity]


def kind_title(finding: Finding) -> str:
    """The title of the finding's kind after its clear causes, as it is written within a line."""
    return in_sentence(title_with_causes(title_of(finding.kind, finding.metric), finding.causes))


def possible_cause(finding: Finding) -> str:
    """The first cause where none is clear enough for the summary; empty without any."""
    if not finding.causes or finding.clear_causes:
        return ""
    cause = finding.causes[0]
    return f"Possible cause ({int(100 * cause.score)}%): {cause.sentence}."


def group_diagnostics(diagnostics: Iterable[Diagnostic], *, several: bool) -> list[tuple[Diagnostic, str]]:
    """Diagnostics with the launches and labels they are about; equal ones on several launches are one.

    `several`: the run has several launches, so that they need to be named.
    """
    groups: dict[tuple[str, Labels, Severity, str, str], list[Diagnostic]] = {}
    for each in diagnostics:
        key = (each.code, each.labels, each.severity, each.summary, each.advice)
        groups.setdefault(key, []).append(each)
    return [(group[0], _scope(group, several=several)) for group in groups.values()]


def _scope(group: Sequence[Diagnostic], *, several: bool) -> str:
    names = ", ".join(str(each.attempt) for each in group[:_MAX_ATTEMPTS])
    names += " ..." if len(group) > _MAX_ATTEMPTS else ""
    attempts = [f"attempts {names}" if len(group) > 1 else f"attempt {names}"] if several else []
    # a host that the summary names already is left out
    labels = [
        f"{name} {value}"
        for name, value in group[0].labels
        if name != "host" or value not in group[0].summary
    ]
    return ", ".join([*attempts, *labels])


def describe_position(finding: Finding) -> str:
    """The steps or times of a finding, with its attempt where there may be several."""
    start, end = f"{finding.start_step:,}", finding.end_step
    if _has_times_only(finding):
        time = format_wall_time(finding.start_step / 1e3)
        return f"from {time} on" if end is None else f"at {time}"
    if finding.kind is Kind.STALL:
        steps = f"after step {start}"
    elif end is None:
        steps = f"from step {start} on"
    else:
        steps = f"step {start}" if end <= finding.start_step else f"steps {start} to {end:,}"
    return steps if finding.attempt == 0 else f"{steps}, attempt {finding.attempt}"


def _has_times_only(finding: Finding) -> bool:
    """Whether its steps are milliseconds since 1970, as in a run with hardware monitors only."""
    time = finding.evidence.get("wall_time")
    return isinstance(time, float) and abs(finding.start_step - time * 1e3) <= 1


def headline(report: Report) -> str:
    """The size of the run and the number of its findings."""
    if not report.points:
        return "no steps yet" if report.data.config else "nothing readable"
    size = f"{counted(report.attempts, 'attempt')}, {counted(report.points, 'point')}"
    if not report.findings:
        return f"{size}: no findings{_count_diagnostics(report)}"
    number = counted(len(report.findings), "finding")
    ongoing = sum(finding.end_step is None for finding in report.findings)
    return f"{size}: {number}{count_severities(report)}" + (f", {ongoing} ongoing" if ongoing else "")


def _count_diagnostics(report: Report) -> str:
    """The number of diagnostics that are not for information only."""
    serious = [each for each in report.diagnostics if each.severity is not Severity.INFO]
    count = len(group_diagnostics(serious, several=report.attempts > 1))
    return f", {counted(count, 'launch diagnostic')}" if count else ""


def count_severities(report: Report) -> str:
    """The number of findings of each severity, where there are several severities."""
    count = Counter(finding.severity for finding in report.findings)
    warnings = verb(count[Severity.WARNING], "warning", "warnings")
    names = {Severity.CRITICAL: "critical", Severity.WARNING: warnings, Severity.INFO: "for information"}
    parts = [f"{count[severity]} {name}" for severity, name in names.items() if count[severity]]
    return f" ({', '.join(parts)})" if len(parts) > 1 else ""
