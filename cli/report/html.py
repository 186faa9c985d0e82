"""Reports as one stand-alone page: curves with incidents marked, evidence and advice beside each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from holter.attempts.config_diff import list_changes
from holter.cli.report import Report, collectives
from holter.cli.report.speed import lines, parts
from holter.cli.report.svg import draw
from holter.cli.report.words import describe_position, group_diagnostics, headline, kind_title, severity_sign
from holter.curves import around, between, main_series, series_of
from holter.detectors.communication import compare_collectives
from holter.detectors.findings.evidence import evidence_rows
from holter.plurals import counted
from holter.types import Diagnostic, Finding, Kind, RunData, Series, Severity

_LONG = 24
"""Characters of evidence that fill a line of their own."""
_MANY = 8
"""Findings from which on those for information are folded up, and listed first."""
_LISTED = 6
"""Findings of a run in the list of runs: the gravest."""

_ENVIRONMENT = Environment(loader=PackageLoader("holter.cli.report", "."), autoescape=True)


def page(reports: Sequence[Report]) -> str:
    """The whole page; needs nothing from anywhere else."""
    title = f"Run {reports[0].run}" if len(reports) == 1 else counted(len(reports), "run")
    runs = [_run(report) for report in reports]
    return _ENVIRONMENT.get_template("page.html").render(title=title, runs=runs)


def _run(report: Report) -> dict[str, Any]:
    findings = [_finding(report.data, finding, number) for number, finding in enumerate(report.findings, 1)]
    by_weight = sorted(findings, key=lambda one: -Severity(one["severity"]).rank)
    return {
        "report": report,
        "verdict": headline(report),
        "curves": list(_curves(report)),
        "findings": findings,
        "gravest": by_weight[:_LISTED],
        "many": len(findings) > _MANY,
        "speed": [] if report.throughput is None else list(lines(report.throughput, report.spent)),
        "spent": [] if report.spent is None else parts(report.spent),
        "remarks": [
            _remark(remark, where)
            for remark, where in group_diagnostics(report.remarks, several=report.attempts > 1)
        ],
        "changes": list_changes(report.data.config),
        "collectives": list(collectives.told(compare_collectives(report.data))),
    }


def _remark(remark: Diagnostic, where: str) -> dict[str, str]:
    return {
        "severity": remark.severity.value,
        "mark": severity_sign(remark),
        "summary": remark.summary,
        "advice": remark.advice,
        "whose": where,
    }


def _curves(report: Report) -> Iterator[tuple[str, Markup]]:
    """The run's whole life, a curve each, with every finding on them."""
    for series in main_series(report.data):
        if len(series):
            picture = draw(_whole(series), report.findings, title=str(series.key))
            yield str(series.key), Markup(picture)
    own = report.throughput.own if report.throughput is not None else None
    mfu = own.curve("MFU by Holter's formula", own.mfu) if own is not None else None
    if mfu is not None:
        yield str(mfu.key), Markup(draw(_whole(mfu), [], title=str(mfu.key)))


def _whole(series: Series) -> Any:
    return between(series, int(series.step.min()), int(series.step.max()))


def _finding(run: RunData, finding: Finding, number: int) -> dict[str, Any]:
    series = series_of(run, finding)
    picture = ""
    if series is not None and finding.kind is not Kind.STALL:
        picture = draw(around(series, finding), [finding], title=finding.summary)
    measured = [
        (name, said, len(said) > _LONG)
        for name, said in evidence_rows(finding.evidence, kind=finding.kind, metric=finding.metric)
    ]
    return {
        "number": number,
        "severity": finding.severity.value,
        "mark": severity_sign(finding),
        "kind": kind_title(finding),
        "place": describe_position(finding),
        "summary": finding.summary,
        "advice": finding.advice,
        "caption": str(series.key) if series is not None else "",
        "picture": Markup(picture),
        "evidence": sorted(measured, key=lambda one: one[2]),  # in rows first, then line by line
    }
