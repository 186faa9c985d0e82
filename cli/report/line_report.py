"""`holter doctor --explain`: every line of log files with what was read from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from holter.ingest import formats
from holter.ingest.discovery.scanner import LogTree, Source
from holter.ingest.offline.explain_lines import ExplainedLine, explain_lines
from holter.ingest.offline.guessed_format import source_by_hand
from holter.settings import Settings
from holter.terminal_text import printable

_MAX_BYTES = 256 * 2**20
_MAX_VALUES = 12
_END = "(the end: rows that waited for further lines)"
_STYLES = {"read": "green", "settings": "cyan", "unread": "yellow", "": "dim"}


def explain_paths(paths: Sequence[Path], settings: Settings) -> int:
    """Print the lines of each file. Exit code 1 if one has no lines to read."""
    console = Console(highlight=False)
    known = formats(settings.formats)
    failed = not paths
    if failed:
        console.print("wrong  --explain needs the path of a log file")
    for path in paths:
        sources = LogTree(path, known).scan() if path.exists() else []
        if (by_hand := source_by_hand(path, sources, known)) is not None:
            sources = [by_hand]
        shown = 0
        for source in sources:
            console.print(f"{printable(str(source.path))}: {source.format.name}", markup=False)
            for line in explain_lines(source, _MAX_BYTES):
                _print_line(console, line)
                shown += 1
        if not shown:
            failed = True
            console.print(printable(f"wrong  {path}: {_why_none(sources)}"), markup=False)
    return int(failed)


def _why_none(sources: Sequence[Source]) -> str:
    """Why there are no lines to print: of a table or another document the content is printed without
    --explain."""
    if not sources:
        return "no log of a training"
    names = sorted({source.format.name for source in sources})
    return f"no lines of printed text ({', '.join(names)}); holter doctor PATH shows what is read from it"


def _print_line(console: Console, line: ExplainedLine) -> None:
    word = "read" if line.rows else "settings" if line.settings else "unread" if line.unread else ""
    shown = _END if line.is_end else printable(line.text)
    text = Text.assemble(f"{line.number:7}  ", (f"{word:9}", _STYLES[word]), (shown, "" if word else "dim"))
    console.print(text, soft_wrap=True)
    for row in line.rows:
        values = ", ".join(f"{name} = {value:g}" for name, value in list(row.values.items())[:_MAX_VALUES])
        labels = "".join(f" {name}={value}" for name, value in row.labels)
        console.print(
            Text(printable(f"{'':18}step {row.step}{labels}: {values}"), _STYLES["read"]), soft_wrap=True
        )
    if line.settings:
        names = ", ".join(line.settings[:_MAX_VALUES])
        console.print(Text(printable(f"{'':18}{names}"), _STYLES["settings"]), soft_wrap=True)
