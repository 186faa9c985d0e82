"""Reports for the terminal: a sentence per run, its findings as a table with small pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holter.cli.report import Report
from holter.cli.report.collectives import told
from holter.cli.report.speed import lines
from holter.cli.report.words import describe_position, group_diagnostics, headline, kind_title, severity_sign
from holter.curves import around, series_of
from holter.detectors.communication import compare_collectives
from holter.detectors.findings.sparkline import sparkline
from holter.plurals import verb
from holter.roles import Role, role_of
from holter.types import Finding, Kind, RunData, Severity

_STYLE = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_PICTURE = 28
_HEAD = 48
"""Columns before the picture, so that pictures stand below each other."""
_WIDEST = 100


def write(reports: Sequence[Report], console: Console) -> None:
    """Every run in turn, then how many need a look."""
    if console.width > _WIDEST:
        console.width = _WIDEST
    for report in reports:
        console.print(_run(report))
    if len(reports) > 1:
        troubled = sum(
            any(finding.severity is not Severity.INFO for finding in one.findings) for one in reports
        )
        console.print(f"{troubled} of {len(reports)} runs {verb(troubled, 'needs', 'need')} a look.")


def _run(report: Report) -> RenderableType:
    head = Text.assemble(
        (report.run, "bold"),
        "  ",
        (headline(report), "" if report.findings or report.remarks else "green" if report.points else "dim"),
    )
    findings = (_finding(report.data, finding) for finding in report.findings)
    return Group(head, *_speed(report), *findings, *_collectives(report), *_setup(report), "")


def _speed(report: Report) -> Iterator[RenderableType]:
    """A line each on MFU, on what is reported, and on how the time was spent."""
    if report.throughput is None:
        return
    table = Table.grid(padding=(0, 2))
    for line in lines(report.throughput, report.spent):
        source = f"  {line.source}" if line.source else ""
        table.add_row(Text(line.name, style="dim"), Text.assemble(line.said, (source, "dim")))
    if table.row_count:
        yield Padding(table, (0, 0, 0, 2))


def _collectives(report: Report) -> Iterator[RenderableType]:
    """What logs of collectives tell, a line each."""
    lines_ = list(told(compare_collectives(report.data)))
    if not lines_:
        return
    yield ""
    yield Padding(Text("Collectives", style="bold"), (0, 0, 0, 2))
    for name, said in lines_:
        yield Padding(Text.assemble((f"{name:>9}  ", "dim"), said), (0, 0, 0, 2))


def _setup(report: Report) -> Iterator[RenderableType]:
    """What is to be said of how the launches are set up."""
    if not report.remarks:
        return
    yield ""
    yield Padding(Text("Set-up", style="bold"), (0, 0, 0, 2))
    for remark, where in group_diagnostics(report.remarks, several=report.attempts > 1):
        style = _STYLE[remark.severity]
        table = Table.grid(padding=(0, 1))
        table.add_row(
            Text(severity_sign(remark), style),
            Text.assemble((remark.summary, style), (f"  {where}".rstrip(), "dim")),
        )
        table.add_row("", Text(remark.advice, style="dim"))
        yield Padding(table, (0, 0, 0, 4))


def _finding(run: RunData, finding: Finding) -> RenderableType:
    """A line of kind, place and picture; below it the sentence, and what to do."""
    style = _STYLE[finding.severity]
    line = Text.assemble(
        (f"{severity_sign(finding)} {kind_title(finding)}", style), "  ", (describe_position(finding), "dim")
    )
    below: list[RenderableType] = [Text(finding.summary), Text(finding.advice, style="dim")]
    picture = _picture(run, finding, style)
    if picture is not None and line.cell_len > _HEAD - 2:
        below.insert(0, picture)
    elif picture is not None:
        line.append(" " * (_HEAD - line.cell_len))
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
    picture = Text(sparkline(steps, values, _PICTURE, extremes=spiky), style="dim")
    span = max(float(steps.max() - steps.min()), 1.0)
    end = finding.end_step if finding.end_step is not None else steps.max()
    first = int((finding.start_step - steps.min()) / span * (_PICTURE - 1))
    last = int((end - steps.min()) / span * (_PICTURE - 1))
    picture.stylize(style, max(first, 0), min(last, _PICTURE - 1) + 1)
    return picture
