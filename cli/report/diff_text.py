"""The comparison of two runs for the terminal: sentences, the difference as a small curve, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holter.detectors.compare.words import value_text
from holter.detectors.findings.sparkline import sparkline
from holter.detectors.formatting import duration, figure
from holter.plurals import counted
from holter.terminal_text import printable
from holter.types import FloatArray

SENTENCES = ("configuration", "environment", "speed", "loss", "incidents")
_STYLES = {"lower": "green", "higher": "bold red", "none": "cyan", "unknown": "dim"}
_SIGNS = {"lower": "▼", "higher": "▲", "none": "=", "unknown": "?"}
_CURVE_WIDTH = 48
_MAX_WIDTH = 100
_MAX_SETTINGS = 40
_IDENTITY = "identity"
_TIMES_FROM = 10.0
"""Ratio of two figures from which it is stated itself instead of the growth in per cent."""


def write(diff: Mapping[str, Any], console: Console, *, curve: tuple[FloatArray, FloatArray] | None) -> None:
    """Print a comparison (docs/compare.md). `curve`: x and differences from the baseline, where known."""
    console.width = min(console.width, _MAX_WIDTH)
    console.print(Group(*_parts(diff, curve)))


def _parts(diff: Mapping[str, Any], curve: tuple[FloatArray, FloatArray] | None) -> Iterable[RenderableType]:
    yield Text.assemble(
        (printable(diff["run"]), "bold"), ("  compared with  ", "dim"), (printable(diff["baseline"]), "bold")
    )
    difference = str(diff["verdict"])
    table = Table.grid(padding=(0, 2))
    for name in SENTENCES:
        text = Text(printable(diff[name]))
        if name == "loss":
            text = Text.assemble(
                (f"{_SIGNS[difference]} ", _STYLES[difference]), (str(text), _STYLES[difference])
            )
        table.add_row(Text(name, style="dim"), text)
    if diff["aligned_by"]:
        table.add_row(Text("x axis", style="dim"), printable(f"{diff['x']}: {diff['aligned_by']}"))
    if curve is not None and len(curve[0]) > 2:
        picture = sparkline(curve[0], curve[1], _CURVE_WIDTH)
        table.add_row(Text("difference", style="dim"), Text(picture, style=_STYLES[difference]))
    yield Padding(table, (0, 0, 0, 2))
    yield from _settings(diff)
    yield from _figures(diff["figures"])


def _settings(diff: Mapping[str, Any]) -> Iterable[RenderableType]:
    shown = [each for each in diff["settings"] if each["category"] != _IDENTITY and not each["folded"]]
    hidden = len(diff["settings"]) - len(shown[:_MAX_SETTINGS])
    if shown:
        yield ""
        table = _table("setting")
        for each in shown[:_MAX_SETTINGS]:
            before, after = (value_text(value) for value in each["values"])
            table.add_row(printable(each["name"]), printable(before), Text(printable(after), style="bold"))
        yield Padding(table, (0, 0, 0, 2))
    notes = (
        [f"{counted(diff['equal_settings'], 'equal setting')} not shown"] if diff["equal_settings"] else []
    )
    if hidden > 0:
        notes.append(f"{counted(hidden, 'difference')} of names, paths and possible defaults: --format json")
    if notes:
        yield Padding(Text("; ".join(notes), style="dim"), (0, 0, 0, 2))


def _figures(figures: Sequence[Mapping[str, Any]]) -> Iterable[RenderableType]:
    if not figures:
        return
    yield ""
    table = _table("figure")
    for each in figures:
        before, after = each["values"]
        style = ""
        if each["better"] and before and after and abs(after / before - 1) > 0.01:
            style = "green" if (after > before) == (each["better"] == "higher") else "red"
        table.add_row(
            printable(each["title"]),
            figure_text(before, each),
            Text(figure_text(after, each), style=style),
            Text(change_text(before, after), style="dim"),
        )
    yield Padding(table, (0, 0, 0, 2))


def _table(first: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column(first, max_width=34)
    table.add_column("baseline")
    table.add_column("run")
    if first == "figure":
        table.add_column("")
    return table


def figure_text(value: float | None, each: Mapping[str, Any]) -> str:
    """A figure with its unit; `-` where it is not known."""
    if value is None:
        return "-"
    if each["name"] == "duration":
        return duration(value)
    if each["name"] in ("mfu", "goodput") and 0 <= value <= 1:
        return f"{value:.1%}"
    return f"{figure(value)} {each['unit']}".strip()


def change_text(before: float | None, after: float | None) -> str:
    """The relative change between two figures; empty where there is none to state."""
    if before is None or after is None or before <= 0 or before == after:
        return ""
    ratio = after / before
    return f"{ratio:.3g} times" if ratio >= _TIMES_FROM else f"{ratio - 1:+.1%}"
