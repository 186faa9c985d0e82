"""Reports as one stand-alone page: curves with incidents marked, evidence and advice beside each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from holter.detectors.figures import figure
from holter.report import Report
from holter.report.excerpt import around, between, main_series, series_of
from holter.report.svg import draw
from holter.report.words import kind, mark, place, verdict
from holter.types import Finding, Kind, RunData, Series

_ENVIRONMENT = Environment(loader=PackageLoader("holter.report", "."), autoescape=True)


def page(reports: Sequence[Report]) -> str:
    """The whole page; needs nothing from anywhere else."""
    title = f"Run {reports[0].run}" if len(reports) == 1 else f"{len(reports)} runs"
    runs = [
        {
            "report": report,
            "verdict": verdict(report),
            "curves": list(_curves(report)),
            "findings": [_finding(report.data, finding) for finding in report.findings],
        }
        for report in reports
    ]
    return _ENVIRONMENT.get_template("page.html").render(title=title, runs=runs)


def _curves(report: Report) -> Iterator[tuple[str, Markup]]:
    """The run's whole life, a curve each, with every finding on them."""
    for series in main_series(report.data):
        if len(series):
            picture = draw(_whole(series), report.findings, title=str(series.key))
            yield str(series.key), Markup(picture)


def _whole(series: Series) -> Any:
    return between(series, int(series.step.min()), int(series.step.max()))


def _finding(run: RunData, finding: Finding) -> dict[str, Any]:
    series = series_of(run, finding)
    picture = ""
    if series is not None and finding.kind is not Kind.STALL:
        picture = draw(around(series, finding), [finding], title=finding.summary)
    return {
        "severity": finding.severity.value,
        "mark": mark(finding),
        "kind": kind(finding),
        "place": place(finding),
        "summary": finding.summary,
        "advice": finding.advice,
        "caption": str(series.key) if series is not None else "",
        "picture": Markup(picture),
        "evidence": [(name.replace("_", " "), _shown(value)) for name, value in finding.evidence.items()],
    }


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one) for one in value)
    return "not known" if value is None else str(value)
