"""Parses lines of any program that differ in their numbers alone, in columns.

The values, steps and state are those that `plain_line` gives for one line after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.console.layout_slots import MAX_COUNT_DIGITS
from holter.ingest.console.line_layouts import LayoutContent, LineLayout
from holter.ingest.console.line_shapes import Counter, LineShape, shape_of
from holter.ingest.console.plain_line import axis_state, metric_name, value_of
from holter.ingest.console.step_axis import (
    evaluation_step,
    is_end_of_epoch,
    note_epoch,
    note_heading,
    training_steps,
)
from holter.ingest.console.values import begins_with_year, find_time, parse_time, parse_year_first

_NO_TIME = float("nan")
_SCALED_COUNT_DIGITS = 6
"""Digits of a count with a unit such as K: more may be beyond the largest step."""


@dataclass(frozen=True, slots=True)
class _CountColumn:
    """The columns of a count and its total, -1 without one."""

    counter: Counter
    column: int
    total: int
    scale: float


@dataclass(frozen=True, slots=True)
class _MetricColumn:
    name: str
    column: int
    scale: float


@dataclass(frozen=True, slots=True)
class _PlainContent:
    """What the columns of a layout are; `time` is that of the time, -1 without one."""

    shape: LineShape
    counts: tuple[_CountColumn, ...]
    metrics: tuple[_MetricColumn, ...]
    time: int
    year_first: bool

    @property
    def is_noted(self) -> bool:
        """Whether lines without any value are the epoch or the step of those below them."""
        counters = [count.counter for count in self.counts]
        if self.shape.is_heading and {Counter.GLOBAL_STEP, Counter.STEP}.intersection(counters):
            return True
        return not self.shape.split and counters == [Counter.EPOCH]


def describe_line(line: str, parts: list[str]) -> LayoutContent | None:
    """What the numbers of a line are, None if its time is in several of them."""
    shape, numbers = shape_of(tuple(parts[::2])), parts[1::2]
    match, time = find_time(line), -1
    if match is not None:
        time = _number_at(match.start(), match.end(), parts)
        if time < 0:
            return None
    counters = {field.counter: field for field in reversed(shape.counters)}
    counts = {
        index: MAX_COUNT_DIGITS if field.scale == 1 else _SCALED_COUNT_DIGITS
        for field in counters.values()
        for index in (field.index, field.total_index)
        if index >= 0
    }
    metrics = [field for field in shape.metrics if value_of(numbers[field.index]) is not None]
    groups = sorted({*counts, *(field.index for field in metrics), *([time] if time >= 0 else ())})
    column = {-1: -1, **{index: column for column, index in enumerate(groups)}}
    content = _PlainContent(
        shape,
        tuple(
            _CountColumn(counter, column[field.index], column[field.total_index], field.scale)
            for counter, field in counters.items()
        ),
        tuple(_MetricColumn(field.name, column[field.index], field.scale) for field in metrics),
        column[time],
        time >= 0 and begins_with_year(numbers[time]),
    )
    is_empty = not shape.is_record and not content.is_noted
    return LayoutContent(() if is_empty else tuple(groups), counts, content, is_empty)


def _number_at(start: int, end: int, parts: list[str]) -> int:
    """The index of the number that has these characters of a line, -1 if none has all of them."""
    position = 0
    for index, part in enumerate(parts):
        if position <= start and end <= position + len(part):
            return index // 2 if index % 2 else -1
        position += len(part)
    return -1


def parse_columns(
    layout: LineLayout, rows: Sequence[tuple[bytes, ...]], state: DialectState
) -> list[LineTable]:
    """The values of some lines of one layout; see `LineColumns`."""
    content: _PlainContent = layout.content
    shape, axis = content.shape, axis_state(state)
    if not shape.is_record:
        _note(content, rows, axis)
        return []
    columns = list(zip(*rows, strict=True))
    counts = {count.counter: _counts(count, columns) for count in content.counts}
    if shape.split:
        found = [evaluation_step(row, axis) for row in _by_row(counts)]
        steps = [step for step in found if step is not None]
    else:
        steps = training_steps(counts, axis)
    if not steps:  # None of them counts what is a step
        return []
    axis["split"] = shape.split
    table = LineTable(steps, _times(content, columns), _values(content, columns))
    return [table] if shape.split else _with_means(table, counts, axis)


def _note(content: _PlainContent, rows: Sequence[tuple[bytes, ...]], axis: dict[str, Any]) -> None:
    """Note what lines without values announce."""
    columns = list(zip(*rows, strict=True))
    counts = {count.counter: _counts(count, columns) for count in content.counts}
    for row in _by_row(counts):
        if len(content.shape.counters) == 1 and not content.shape.split:
            note_epoch(row, axis)
        if content.shape.is_heading:
            note_heading(row, axis)


def _counts(count: _CountColumn, columns: list[tuple[bytes, ...]]) -> list[tuple[int, int]]:
    counts = _count(columns[count.column], count.scale)
    if count.total < 0:
        return [(value, 0) for value in counts]
    return list(zip(counts, _count(columns[count.total], count.scale), strict=True))


def _count(column: tuple[bytes, ...], scale: float) -> list[int]:
    return list(map(int, column)) if scale == 1 else [int(float(text) * scale) for text in column]


def _by_row(counts: Mapping[Counter, list[tuple[int, int]]]) -> list[dict[Counter, tuple[int, int]]]:
    return [dict(zip(counts, row, strict=True)) for row in zip(*counts.values(), strict=True)]


def _times(content: _PlainContent, columns: list[tuple[bytes, ...]]) -> list[float]:
    if content.time < 0:
        return [_NO_TIME] * len(columns[0])
    if content.year_first:
        return list(map(parse_year_first, columns[content.time]))
    return [parse_time(text.decode()) for text in columns[content.time]]


def _values(content: _PlainContent, columns: list[tuple[bytes, ...]]) -> dict[str, list[float]]:
    values = {}
    for metric in content.metrics:
        column = columns[metric.column]
        try:
            numbers = list(map(float, column))
        except ValueError:  # with thousands separators
            numbers = [float(text.replace(b",", b"")) for text in column]
        if metric.scale != 1:
            numbers = [number * metric.scale for number in numbers]
        values[metric_name(metric.name, content.shape.split)] = numbers
    return values


def _with_means(
    table: LineTable, counts: Mapping[Counter, list[tuple[int, int]]], axis: dict[str, Any]
) -> list[LineTable]:
    """The values of the training, those that repeat names of an epoch's batches as its means."""
    if not is_end_of_epoch({counter: column[0] for counter, column in counts.items()}, axis):
        axis["names"] = [*table.values]
        return [table]
    tables = []
    if not axis.get("names"):  # the first line has them
        axis["names"] = [*table.values]
        tables.append(_rows(table, slice(0, 1), table.values))
        table = _rows(table, slice(1, None), table.values)
    if table.steps:
        means = {f"epoch/{name}" if name in axis["names"] else name: of for name, of in table.values.items()}
        tables.append(table._replace(values=means))
    return tables


def _rows(table: LineTable, rows: slice, values: Mapping[str, list[float]]) -> LineTable:
    return LineTable(
        table.steps[rows], table.times[rows], {name: column[rows] for name, column in values.items()}
    )
