"""Reports for the terminal: a headline per run, and its findings with small curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holter.cli.report import Report
from holter.cli.report.collectives import describe_collectives
from holter.cli.report.speed import describe_throughput
from holter.cli.report.words import (
    describe_position,
    group_diagnostics,
    headline,
    kind_title,
    possible_cause,
    severity_sign,
)
from holter.curves import around, series_of
from holter.detectors.communication import compare_collectives
from holter.detectors.findings.sparkline import sparkline
from holter.plurals import verb
from holter.roles import Role, role_of
from holter.terminal_text import printable
from holter.types import Finding, Kind, RunData, Severity

_STYLE = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_PICTURE_WIDTH = 28
_HEAD_WIDTH = 48
"""Columns before the picture, so that pictures are aligned."""
_MAX_WIDTH = 100


def write(reports: Sequence[Report], console: Console) -> None:
    """Print every run in turn, then the number of runs with problems."""
    if console.width > _MAX_WIDTH:
        console.width = _MAX_WIDTH
    for report in reports:
        console.print(_run(report))
    if len(reports) > 1:
        count = sum(
            any(finding.severity is not Severity.INFO for finding in report.findings) for report in reports
        )
        console.print(f"{count} of {len(reports)} runs {verb(count, 'needs', 'need')} attention.")


def _run(report: Report) -> RenderableType:
    head = Text.assemble(
        (printable(report.run), "bold"),
        "  ",
        (
            headline(report),
            "" if report.findings or report.diagnostics else "green" if report.points else "dim",
        ),
    )
    findings = (_finding(report.data, finding) for finding in report.findings)
    return Group(head, *_throughput(report), *findings, *_collectives(report), *_diagnostics(report), "")


def _throughput(report: Report) -> Iterator[RenderableType]:
    """A line each on MFU, on reported throughput, and on how the time was spent."""
    if report.throughput is None:
        return
    table = Table.grid(padding=(0, 2))
    for line in describe_throughput(report.throughput, report.goodput):
        source = f"  {printable(line.source)}" if line.source else ""
        table.add_row(Text(line.name, style="dim"), Text.assemble(printable(line.text), (source, "dim")))
    if table.row_count:
        yield Padding(table, (0, 0, 0, 2))


def _collectives(report: Report) -> Iterator[RenderableType]:
    """The lines about collectives."""
    rows = list(describe_collectives(compare_collectives(report.data)))
    if not rows:
        return
    yield ""
    yield Padding(Text("Communication", style="bold"), (0, 0, 0, 2))
    for name, text in rows:
        yield Padding(Text.assemble((f"{name:>9}  ", "dim"), printable(text)), (0, 0, 0, 2))


def _diagnostics(report: Report) -> Iterator[RenderableType]:
    """The diagnostics of the launches, with their advice."""
    if not report.diagnostics:
        return
    yield ""
    yield Padding(Text("Diagnostics", style="bold"), (0, 0, 0, 2))
    for diagnostic, scope in group_diagnostics(report.diagnostics, several=report.attempts > 1):
        style = _STYLE[diagnostic.severity]
        table = Table.grid(padding=(0, 1))
        table.add_row(
            Text(severity_sign(diagnostic), style),
            Text.assemble((printable(diagnostic.summary), style), (f"  {printable(scope)}".rstrip(), "dim")),
        )
        table.add_row("", Text(printable(diagnostic.advice), style="dim"))
        yield Padding(table, (0, 0, 0, 4))


def _finding(run: RunData, finding: Finding) -> RenderableType:
    """A line with kind, position and picture; below it the summary, a possible cause and the advice."""
    style = _STYLE[finding.severity]
    line = Text.assemble(
        (f"{severity_sign(finding)} {kind_title(finding)}", style), "  ", (describe_position(finding), "dim")
    )
    below: list[RenderableType] = [
        Text(printable(finding.summary)),
        *([Text(printable(text))] if (text := possible_cause(finding)) else []),
        Text(printable(finding.advice), style="dim"),
    ]
    picture = _picture(run, finding, style)
    if picture is not None and line.cell_len > _HEAD_WIDTH - 2:
        below.insert(0, picture)
    elif picture is not None:
        line.append(" " * (_HEAD_WIDTH - line.cell_len))
        line.append_text(picture)
    return Group("", Padding(line, (0, 0, 0, 2)), Padding(Group(*below), (0, 0, 0, 4)))


def _picture(run: RunData, finding: Finding, style: str) -> Text | None:
    series = series_of(run, finding)
    if series is None or finding.kind is Kind.STALL:
        return None
    excerpt = around(series, finding)
    steps, values = excerpt.steps().astype(float), excerpt.values()
    if len(steps) < 2:
        return None
    spiky = role_of(series.key) in (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM)
    picture = Text(sparkline(steps, values, _PICTURE_WIDTH, extremes=spiky), style="dim")
    span = max(float(steps.max() - steps.min()), 1.0)
    end = finding.end_step if finding.end_step is not None else steps.max()
    first = int((finding.start_step - steps.min()) / span * (_PICTURE_WIDTH - 1))
    last = int((end - steps.min()) / span * (_PICTURE_WIDTH - 1))
    picture.stylize(style, max(first, 0), min(last, _PICTURE_WIDTH - 1) + 1)
    return picture
