"""Converts lines of a CSV log to columns: steps, times, labels and metrics; with the unreadable lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from types import MappingProxyType
from typing import Any

import numpy as np

from holter.ingest import step_columns
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.step_axis import training_steps
from holter.ingest.console.tables.table_rows import (
    columns_of,
    evaluated_data,
    is_data,
    number_of_part,
    step_of_row,
)
from holter.ingest.csv.cell_numbers import numbers_of_cells
from holter.ingest.csv.row_cells import split_rows
from holter.ingest.csv.step_repeats import CsvCells, RowSeries, StepRepeats
from holter.ingest.csv.subject_columns import SubjectColumns
from holter.ingest.names import storable_label
from holter.types import Batch, Column, FloatArray, IntArray, Labels, SeriesKey, labels_of


class CsvLayout:
    """The purpose of each column of a header, and which columns have had numbers or text so far."""

    def __init__(
        self,
        header: Sequence[str],
        state: Mapping[str, Any] = MappingProxyType({}),
        subjects: Collection[str] = (),
    ) -> None:
        self.header = list(header)
        self._first = {name: len(header) - 1 - back for back, name in enumerate(reversed(self.header))}
        within = step_columns.find_epoch_and_batch(self.header)
        self.step = _index_of(self.header, within[1] if within else step_columns.find_step(self.header))
        self.epoch = _index_of(self.header, within[0]) if within else None
        self.clock = _index_of(self.header, step_columns.find_clock(self.header))
        self.attempt = _index_of(self.header, step_columns.ATTEMPT_NAME)
        # `time` is a wall time or a duration: its first value decides
        self.clock_is = (
            "?" if self.clock is not None and step_columns.is_ambiguous_clock(self.header[self.clock]) else ""
        )
        # a column `dataset` is a label
        self.data = [
            column
            for column in columns_of(tuple(self.header)).data
            if self.header[column] not in step_columns.LABEL_NAMES
        ]
        self.labels = [header.index(name) for name in step_columns.LABEL_NAMES if name in header]
        self.numeric: set[int] = _from_bitmap(state.get("numeric", "0"))
        self.text: set[int] = _from_bitmap(state.get("text", "0"))
        self.settle_clock(state.get("clock", "?"))
        self.epochs: dict[str, Any] = dict(state.get("epochs", {}))
        if within and step_columns.counts_through_epochs(within[1]):
            self.epochs["restarts"] = False
        name = "" if self.step is None else self.header[self.step].strip().lower()
        counts_epochs = self.epoch is None and name in step_columns.EPOCH_NAMES
        self.parts: dict[str, Any] | None = dict(state.get("parts", {})) if counts_epochs else None
        """What is known of the parts of epochs that rows may be at; None if they are at no epochs."""
        self.last: list[str] = list(state.get("last", ()))
        """The cells of the epoch and the step of the last row, where a step may be counted within epochs."""
        self.subjects = SubjectColumns(header, self._taken(), state.get("subjects", {}), subjects)
        self.repeats = StepRepeats(state.get("repeats", {}))

    def state(self) -> dict[str, Any]:
        """What the rows so far have shown, as JSON-able values."""
        return {
            "numeric": _to_bitmap(self.numeric),
            "text": _to_bitmap(self.text),
            **({"clock": self.clock_is} if self.clock_is else {}),
            **({"epochs": self.epochs} if self.epochs else {}),
            **({"parts": self.parts} if self.parts else {}),
            **({"last": self.last} if self.last else {}),
            **({"subjects": subjects} if (subjects := self.subjects.state()) else {}),
            **({"repeats": repeats} if (repeats := self.repeats.state()) else {}),
        }

    def settle_clock(self, decision: str) -> None:
        """Make a column `time` the "clock" or a "metric" from now on; "?" leaves it undecided."""
        if self.clock_is:
            self.clock_is = decision
            if decision == "metric":
                self.clock = None

    def metrics(self) -> list[int]:
        """The indices of metric columns: of columns with one name only the first, none without a name."""
        taken = self._taken() | self.subjects.no_metrics
        return [index for name, index in self._first.items() if name and index not in taken]

    def _taken(self) -> set[int]:
        taken = {self.step, self.clock, self.attempt, *self.labels}
        return {index for index in taken if index is not None}


@dataclass(kw_only=True)
class CsvTable:
    """The readable rows. `lines` [n] has the line number of each row, `problems` lines and reasons."""

    lines: IntArray
    steps: IntArray
    times: FloatArray
    columns: list[CsvCells]
    attempts: list[str] | None = None
    series: list[RowSeries] | None = None
    problems: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.steps)

    def attempt_spans(self) -> Iterator[tuple[int, int]]:
        """The spans of rows with the same attempt, in order."""
        if not len(self):
            return
        names = self.attempts or []
        turns = [row for row in range(1, len(names)) if names[row] != names[row - 1]]
        yield from zip([0, *turns], [*turns, len(self)], strict=True)

    def batch(self, start: int, stop: int, *, attempt: str | None) -> Batch:
        """Rows [start, stop) as a batch; a column `attempt` takes precedence over the name of the file."""
        columns: list[Column] = []
        for cells in self.columns:
            values, rows = _slice(cells, start, stop)
            if not len(values):
                continue
            if self.series is None:
                full = len(values) == stop - start
                columns.append(Column(key=SeriesKey(cells.name), values=values, rows=None if full else rows))
            else:
                columns.extend(_by_series(cells.name, values, rows, self.series[start:stop]))
        named = (self.attempts[start] or attempt) if self.attempts else attempt
        return Batch(
            steps=self.steps[start:stop],
            times=self.times[start:stop],
            columns=tuple(columns),
            attempt=named,
        )


def parse_rows(lines: Sequence[bytes], *, layout: CsvLayout, delimiter: str, first_line: int) -> CsvTable:
    """The rows in these lines. A line that is no row is a problem, unless it is empty or the header."""
    problems: list[tuple[int, str]] = []
    rows, numbers = split_rows(lines, layout.header, delimiter, first_line, problems)
    if layout.step is None:
        rows, numbers = [], []
    rows, numbers, steps, parts = _steps(rows, numbers, layout, problems)
    data = _data(rows, layout)
    steps = _over_epochs(rows, steps, data, layout)
    cells = list(zip(*rows, strict=True)) if rows else []
    line_numbers = np.array(numbers, dtype=np.int64)
    times = _times(cells, layout, line_numbers, problems)
    series = _series(data, cells, steps, layout) if rows else None
    columns = (
        [_column(cells[column], column, layout, line_numbers, problems) for column in layout.metrics()]
        if rows
        else []
    )
    if parts:
        at = np.array([*parts], dtype=np.int64)
        columns.append(CsvCells("epoch", np.array([*parts.values()], dtype=np.float64), at))
    attempts = _attempts(cells[layout.attempt]) if rows and layout.attempt is not None else None
    return CsvTable(
        lines=line_numbers,
        steps=steps,
        times=times,
        columns=[column for column in columns if len(column.values)],
        attempts=attempts,
        series=layout.repeats.series(steps, attempts, series, columns),
        problems=sorted(problems),
    )


def _steps(
    rows: list[list[str]], numbers: list[int], layout: CsvLayout, problems: list[tuple[int, str]]
) -> tuple[list[list[str]], list[int], IntArray, dict[int, float]]:
    """The rows with a readable step, and these steps; and the parts of epochs that rows are at."""
    index = layout.step or 0
    _fill_steps(rows, layout)
    try:
        steps = np.array([int(row[index]) for row in rows], dtype=np.int64)
        if ((steps >= -step_columns.LARGEST_STEP) & (steps <= step_columns.LARGEST_STEP)).all() and not (
            layout.parts and layout.parts["part of epoch"]["is part"]
        ):
            if layout.parts is not None:
                for step in (*steps[:1].tolist(), *steps[-1:].tolist()):
                    number_of_part(float(step), layout.parts)
            return rows, numbers, steps, {}
    except (ValueError, OverflowError):
        pass
    found: list[int] = []
    readable: list[int] = []
    parts: dict[int, float] = {}
    for row_index, row in enumerate(rows):
        try:
            step, part = _step(row[index], layout)
        except ValueError as error:
            problems.append((numbers[row_index], f"column {layout.header[index]}: {error}"))
            continue
        if part is not None:
            parts[len(found)] = part
        found.append(step)
        readable.append(row_index)
    return (
        [rows[row_index] for row_index in readable],
        [numbers[row_index] for row_index in readable],
        np.array(found, dtype=np.int64),
        parts,
    )


def _fill_steps(rows: Sequence[list[str]], layout: CsvLayout) -> None:
    """Give rows of an epoch without a step that of the row above of the same epoch: its means are there."""
    if layout.epoch is None or layout.step is None:
        return
    epoch, step = layout.epoch, layout.step
    for row in rows:
        if not row[step].strip() and layout.last and row[epoch] == layout.last[0]:
            row[step] = layout.last[1]
        elif row[step]:
            layout.last = [row[epoch], row[step]]


def _step(cell: str, layout: CsvLayout) -> tuple[int, float | None]:
    """The step in a cell, and the part of an epoch that this is. Raises ValueError for other cells."""
    try:
        part = float(cell)
    except ValueError:
        part = nan
    if layout.parts is None or not abs(part) <= step_columns.LARGEST_STEP:
        return step_columns.read_counted(cell), None
    step, is_part = number_of_part(part, layout.parts)
    return step, part if is_part else None


def _data(rows: Sequence[Sequence[str]], layout: CsvLayout) -> list[str]:
    """The data of each row of an evaluation, "" of the training; empty if all rows are of the training."""
    if not layout.data:
        return []
    data = [evaluated_data([row[column] for column in layout.data]) for row in rows]
    return data if any(data) else []


def _over_epochs(
    rows: Sequence[Sequence[str]], steps: IntArray, data: Sequence[str], layout: CsvLayout
) -> IntArray:
    """The steps, continued over epochs where they start over in each, as the first change of epoch shows."""
    several = layout.labels or layout.attempt is not None
    if layout.epoch is None or several or not len(steps) or layout.epochs.get("restarts") is False:
        return steps
    try:
        epochs = [step_columns.read_step(row[layout.epoch]) for row in rows]
    except ValueError:  # a fraction, or rows without one: steps that count through all epochs
        layout.epochs["restarts"] = False
        return steps
    continued = _continued(epochs, steps.tolist(), data, layout.epochs)
    if max(map(abs, continued)) > step_columns.LARGEST_STEP:  # an epoch of any size is no count of epochs
        layout.epochs["restarts"] = False
        return steps
    return np.array(continued, dtype=np.int64)


def _continued(
    epochs: Sequence[int], steps: Sequence[int], data: Sequence[str], axis: dict[str, Any]
) -> list[int]:
    counts = {
        Counter.EPOCH: [(epoch, 0) for epoch in epochs],
        Counter.STEP: [(step, 0) for step in steps],
    }
    if not data and "own batches" not in axis:
        return training_steps(counts, axis)
    continued = []
    for row, step in enumerate(steps):
        counted = {counter: column[row] for counter, column in counts.items()}
        at = step_of_row(counted, axis, is_of_evaluation=bool(data and data[row]))
        continued.append(step if at is None else at)
    return continued


def _times(
    cells: Sequence[Sequence[str]], layout: CsvLayout, numbers: IntArray, problems: list[tuple[int, str]]
) -> FloatArray:
    unknown = np.full(len(numbers), np.nan)
    if layout.clock is None or not len(numbers):
        return unknown
    name, column = layout.header[layout.clock], cells[layout.clock]
    if layout.clock_is == "?":
        first = next((cell for cell in column if not step_columns.is_empty_cell(cell)), "")
        layout.settle_clock(step_columns.clock_or_metric(first, name=name))
        if layout.clock is None:
            return unknown
    try:
        times = np.array(list(map(float, column)), dtype=np.float64)
        if np.all((times >= step_columns.EARLIEST_CLOCK) & (times < step_columns.SMALLEST_MILLISECONDS)):
            return times
    except ValueError:
        pass
    for row, cell in enumerate(column):
        try:
            is_none = step_columns.is_empty_cell(cell) or step_columns.is_time_of_day(cell)
            time = None if is_none else step_columns.read_clock(cell, name=name)
            unknown[row] = np.nan if time is None else time
        except ValueError as error:
            problems.append((int(numbers[row]), f"column {name}: {error}"))
    return unknown


def _column(
    cells: Sequence[str], index: int, layout: CsvLayout, numbers: IntArray, problems: list[tuple[int, str]]
) -> CsvCells:
    name = layout.header[index]
    if index in layout.data:
        cells = ["" if is_data(cell) else cell for cell in cells]
    try:
        values = np.array(list(map(float, cells)), dtype=np.float64)
        layout.numeric.add(index)
        return CsvCells(name, values, None)
    except ValueError:
        pass
    parsed: list[float] = []
    rows: list[int] = []
    wrong: list[int] = []
    for row, (cell, number) in enumerate(zip(cells, numbers_of_cells(cells), strict=True)):
        if number is not None:
            parsed.append(number)
            rows.append(row)
        elif cell and not step_columns.is_empty_cell(cell):
            wrong.append(row)
    _report_wrong(cells, wrong, index, layout, numbers, problems, any_number=bool(parsed))
    return CsvCells(name, np.array(parsed, dtype=np.float64), np.array(rows, dtype=np.int64))


def _report_wrong(
    cells: Sequence[str],
    wrong: Sequence[int],
    index: int,
    layout: CsvLayout,
    numbers: IntArray,
    problems: list[tuple[int, str]],
    *,
    any_number: bool,
) -> None:
    """Report cells that are no numbers; of a column that never had a number only the first such cell."""
    if any_number:
        layout.numeric.add(index)
    name = layout.header[index]
    if index in layout.numeric:
        problems += [
            (int(numbers[row]), f"column {name}: expected a number, found {cells[row][:60]!r}")
            for row in wrong
        ]
    elif wrong and index not in layout.text:
        layout.text.add(index)
        shown = cells[wrong[0]][:60]
        problems.append(
            (int(numbers[wrong[0]]), f"column {name}: expected numbers, found text like {shown!r}")
        )


def _attempts(cells: Sequence[str]) -> list[str]:
    return [_integer_text(cell) for cell in cells]


def _series(
    data: Sequence[str], cells: Sequence[Sequence[str]], steps: IntArray, layout: CsvLayout
) -> list[RowSeries] | None:
    """The series of each row; None if all rows are of the same training, without labels."""
    subjects = layout.subjects.labels(cells, steps)
    if not (data or layout.labels or subjects):
        return None
    labels = _labels(cells, layout) if layout.labels else [()] * len(cells[0])
    if subjects:
        labels = [
            labels_of({**dict(own), **dict(subject)}) if own else subject
            for own, subject in zip(labels, subjects, strict=True)
        ]
    return list(map(RowSeries, data or [""] * len(labels), labels))


def _labels(cells: Sequence[Sequence[str]], layout: CsvLayout) -> list[Labels]:
    names = [layout.header[index] for index in layout.labels]
    known: dict[tuple[str, ...], Labels] = {}
    by_row = []
    for row in zip(*(cells[index] for index in layout.labels), strict=True):
        if row not in known:
            known[row] = labels_of(
                {name: _integer_text(cell) for name, cell in zip(names, row, strict=True) if cell.strip()}
            )
        by_row.append(known[row])
    return by_row


def _by_series(
    name: str, values: FloatArray, rows: IntArray, series: Sequence[RowSeries]
) -> Iterator[Column]:
    """One column per series, in the order in which they first appear."""
    codes: dict[RowSeries, int] = {}
    code = np.array([codes.setdefault(series[row], len(codes)) for row in rows.tolist()], dtype=np.int64)
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(codes)))
    for (data, labels), taken in zip(codes, np.split(order, ends[:-1]), strict=True):
        yield Column(key=SeriesKey(metric_name(name, data), labels), values=values[taken], rows=rows[taken])


def _slice(cells: CsvCells, start: int, stop: int) -> tuple[FloatArray, IntArray]:
    if cells.rows is None:
        return cells.values[start:stop], np.arange(stop - start, dtype=np.int64)
    first, last = np.searchsorted(cells.rows, (start, stop))
    return cells.values[first:last], cells.rows[first:last] - start


def _integer_text(cell: str) -> str:
    """`3` for `3`, `3.0` and ` 3`: loggers that go through a data frame write integers as floats."""
    text = storable_label(cell.strip())
    return text[:-2] if text.endswith(".0") and text[:-2].isdecimal() else text


def _index_of(header: Sequence[str], name: str | None) -> int | None:
    return header.index(name) if name is not None and name in header else None


def _to_bitmap(indices: set[int]) -> str:
    return format(sum(1 << index for index in indices), "x")


def _from_bitmap(bits: str) -> set[int]:
    number: int = int(bits, 16)
    return {index for index in range(number.bit_length()) if number >> index & 1}
