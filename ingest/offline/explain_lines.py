"""Reports on the lines of a text: what each was read as, and which have numbers that nothing has read."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from holter.ingest.array_lines import LINE_END
from holter.ingest.console.console_log import ConsoleLog
from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.late_beginnings import state_at_beginning
from holter.ingest.console.line import line_counters
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.text.prefixes import strip_prefixes
from holter.ingest.discovery.scanner import Source
from holter.ingest.lines import read_text_block
from holter.ingest.metric_names import is_metric_name
from holter.ingest.open_log import WithLineEnd, open_beginning, uncompressed_name
from holter.ingest.rows import LogRow

MAX_EXAMPLES = 3
_EXAMPLE_LENGTH = 160
_LONGEST_SHOWN = 1000


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """A line, the rows it was read as, and whether it states settings.

    `unread`: nothing was read from it, but it has named numbers that look like those of a training.
    `counted`: where lines name their epoch alone, their steps are a count of them by then. `is_end`: it is no
    line, but the end of the text, where rows are read that waited for further lines.
    """

    number: int
    text: str
    rows: tuple[LogRow, ...] = ()
    settings: tuple[str, ...] = ()
    unread: bool = False
    counted: bool = False
    is_end: bool = False


@dataclass(slots=True)
class LineSummary:
    """The lines of a text in numbers, and what its steps were taken from, most frequent first.

    `back` counts rows whose step is below that of the row before with values of the same names.
    """

    lines: int = 0
    records: int = 0
    unread: int = 0
    examples: list[str] = field(default_factory=list)
    axes: Counter[str] = field(default_factory=Counter)
    back: int = 0


def explain_lines(source: Source, max_bytes: int) -> Iterator[ExplainedLine]:
    """Every line of a console log, up to `max_bytes`, and its end; none of another log. Raises OSError."""
    format_ = source.format
    if not isinstance(format_, ConsoleLog):
        return
    name = uncompressed_name(source.path)
    with open_beginning(source.path, max_bytes)[0].stream as stream:
        text = io.BufferedReader(WithLineEnd(stream))
        reader = format_.reader(name, state_at_beginning(format_, name, {}, text))
        number = 1
        for begin, line in _lines(text):
            yield _explain(reader, number, line, begin)
            number += 1 + line.count(LINE_END)
        parsed = ParsedLines()
        reader.release(parsed)
        if parsed.rows:
            yield ExplainedLine(number, "", tuple(parsed.rows), is_end=True)


def summarize_lines(source: Source, max_bytes: int) -> LineSummary | None:
    """The lines of a console log in numbers, None for a log of another kind. Raises OSError."""
    if not isinstance(source.format, ConsoleLog):
        return None
    summary, last = LineSummary(), dict[tuple[str, ...], int]()
    for line in explain_lines(source, max_bytes):
        summary.lines += not line.is_end
        summary.records += bool(line.rows)
        if line.unread:
            summary.unread += 1
            if len(summary.examples) < MAX_EXAMPLES:
                summary.examples.append(line.text.strip()[:_EXAMPLE_LENGTH])
        for row in line.rows:
            names = (str(row.labels), *row.values)
            summary.back += row.step < last.get(names, row.step)
            last[names] = row.step
        if line.rows and not line.is_end:
            axis = _axis(line.text)
            summary.axes[_COUNT if line.counted and axis == _AXIS_NAMES[_EPOCH] else axis] += 1
    return summary


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line with its end, and where it begins."""
    while (block := read_text_block(stream)) is not None:
        begin = stream.tell() - len(block)
        for line in block.replace(b"\r", b"\n").splitlines(keepends=True):
            yield begin, line
            begin += len(line)


def _explain(reader: ConsoleReader, number: int, line: bytes, begin: int) -> ExplainedLine:
    parsed = ParsedLines()
    size = reader.parse(line, parsed, begin)
    if size < len(line):
        reader.parse(line[size:], parsed, begin + size)
    settings = tuple(key.name for key in (*parsed.config, *reader.flush().config))
    text = strip_prefixes(line.rstrip(b"\r\n")[:_LONGEST_SHOWN]).text
    is_held = reader.is_holding or reader.waits_for_step
    is_read = parsed.rows or settings or is_held or reader.knows(line)
    unread = not is_read and _has_metrics(text)
    list(reader.problems.drain())
    counted = bool(parsed.rows) and reader.counts_lines
    return ExplainedLine(number, text, tuple(parsed.rows), settings, unread, counted)


def _shape(text: str) -> LineShape:
    return shape_of_line(split_numbers(text))


def _has_metrics(text: str) -> bool:
    return any(is_metric_name(metric.name) for metric in _shape(text).metrics)


_EPOCH = line_counters.Counter.EPOCH
_COUNT = "a count of lines that name their epoch alone, which is a guess"
_AXIS_NAMES = {
    line_counters.Counter.GLOBAL_STEP: "a global step",
    line_counters.Counter.STEP: "a step",
    line_counters.Counter.BATCH: "a batch",
    line_counters.Counter.EPOCH: "an epoch",
    line_counters.Counter.OTHER: "another counter",
}


def _axis(text: str) -> str:
    """What the step of a line was taken from, in words."""
    counters = {field.counter for field in _shape(text).counters}
    if not counters:
        return "the program's own position"
    name = _AXIS_NAMES[min(counters)]
    inner = min(counters) in (line_counters.Counter.STEP, line_counters.Counter.BATCH)
    return f"{name} within an epoch" if inner and line_counters.Counter.EPOCH in counters else name
