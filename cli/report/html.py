"""Reports as one stand-alone HTML page: curves with findings marked, and the evidence and advice of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from holter.attempts.config_diff import list_changes
from holter.cli.report import Report
from holter.cli.report.collectives import describe_collectives
from holter.cli.report.speed import describe_throughput, goodput_parts
from holter.cli.report.svg import draw
from holter.cli.report.words import describe_position, group_diagnostics, headline, kind_title, severity_sign
from holter.curves import Excerpt, around, between, main_series, series_of
from holter.detectors.communication import compare_collectives
from holter.detectors.findings.evidence import evidence_rows
from holter.plurals import counted
from holter.server.rendering.plot_frame import page_style
from holter.types import Diagnostic, Finding, Kind, RunData, Series, Severity

_LONG_EVIDENCE = 24
"""Characters of evidence from which on it has a line of its own."""
_MANY_FINDINGS = 8
"""Findings of a run from which on they are listed first, and those for information are collapsed."""
_MAX_LISTED = 6
"""Findings of a run in the list of runs: the most severe."""

_ENVIRONMENT = Environment(loader=PackageLoader("holter.cli.report", "."), autoescape=True)


def page(reports: Sequence[Report]) -> str:
    """The complete page; it loads nothing from elsewhere."""
    title = f"Run {reports[0].run}" if len(reports) == 1 else counted(len(reports), "run")
    runs = [_run_context(report) for report in reports]
    return _ENVIRONMENT.get_template("page.html").render(title=title, runs=runs, style=Markup(page_style()))


def _run_context(report: Report) -> dict[str, Any]:
    findings = [
        _finding_context(report.data, finding, number) for number, finding in enumerate(report.findings, 1)
    ]
    by_severity = sorted(findings, key=lambda finding: -Severity(finding["severity"]).rank)
    throughput, goodput = report.throughput, report.goodput
    return {
        "report": report,
        "headline": headline(report),
        "curves": list(_curves(report)),
        "findings": findings,
        "most_severe": by_severity[:_MAX_LISTED],
        "many": len(findings) > _MANY_FINDINGS,
        "throughput": [] if throughput is None else list(describe_throughput(throughput, goodput)),
        "goodput": [] if goodput is None else goodput_parts(goodput),
        "diagnostics": [
            _diagnostic_context(diagnostic, scope)
            for diagnostic, scope in group_diagnostics(report.diagnostics, several=report.attempts > 1)
        ],
        "changes": list_changes(report.data.config),
        "collectives": list(describe_collectives(compare_collectives(report.data))),
    }


def _diagnostic_context(diagnostic: Diagnostic, scope: str) -> dict[str, str]:
    return {
        "severity": diagnostic.severity.value,
        "sign": severity_sign(diagnostic),
        "summary": diagnostic.summary,
        "advice": diagnostic.advice,
        "scope": scope,
    }


def _curves(report: Report) -> Iterator[tuple[str, Markup]]:
    """The main curves over the full run, each with all findings."""
    for series in main_series(report.data):
        if len(series):
            picture = draw(_full_range(series), report.findings, title=str(series.key))
            yield str(series.key), Markup(picture)
    own = report.throughput.own if report.throughput is not None else None
    mfu = own.curve("MFU by Holter's formula", own.mfu) if own is not None else None
    if mfu is not None:
        yield str(mfu.key), Markup(draw(_full_range(mfu), [], title=str(mfu.key)))


def _full_range(series: Series) -> Excerpt:
    return between(series, int(series.step.min()), int(series.step.max()))


def _finding_context(run: RunData, finding: Finding, number: int) -> dict[str, Any]:
    series = series_of(run, finding)
    picture = ""
    if series is not None and finding.kind is not Kind.STALL:
        picture = draw(around(series, finding), [finding], title=finding.summary)
    evidence = [
        (label, text, len(text) > _LONG_EVIDENCE)
        for label, text in evidence_rows(finding.evidence, kind=finding.kind, metric=finding.metric)
    ]
    return {
        "number": number,
        "severity": finding.severity.value,
        "sign": severity_sign(finding),
        "kind": kind_title(finding),
        "position": describe_position(finding),
        "summary": finding.summary,
        "advice": finding.advice,
        "causes": finding.causes,
        "caption": str(series.key) if series is not None else "",
        "picture": Markup(picture),
        "evidence": sorted(evidence, key=lambda row: row[2]),  # short ones in columns, then long ones
    }
