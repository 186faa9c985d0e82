"""Adds the records of tables: of lines of known layouts below one another, which are parsed in columns.

What is added is the same as if each line were parsed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holter.ingest.console.dialect import LinesOfProcess
from holter.ingest.console.launches.launch_records import LaunchRecords
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.search.block_search import FoundTable
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.steady_rows import (
    are_steady,
    note_steady_lines,
    rows_in_order,
)
from holter.ingest.console.writers.interleaved_writers import UnlabelledRows
from holter.ingest.console.writers.process_rows import rows_at_once, rows_at_steps
from holter.ingest.console.writers.process_series import ProcessSeries
from holter.ingest.console.writers.process_states import ProcessStates
from holter.ingest.console.writers.redrawn_lines import RedrawnLines
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Labels

_TableRecord = tuple[LogRow, int, Labels, bool, int, int]
"""A row, the step of the training there, the process that printed it, whether that is alone, and where its
line begins and ends."""

_FEWEST_AT_ONCE = 16
"""Lines of a table that are read at once: fewer are read sooner one after another."""


class TableRecords:
    """Adds the records of tables to those of their launches.

    `is_storable` states whether a step can be stored, which is a problem of the line at a position if not.
    """

    def __init__(
        self,
        launches: LaunchRecords,
        states: ProcessStates,
        series: ProcessSeries,
        redrawn: RedrawnLines,
        is_storable: Callable[[int, int], bool],
    ) -> None:
        self._launches, self._states, self._series = launches, states, series
        self._redrawn, self._is_storable = redrawn, is_storable

    def add(self, found: FoundTable, parsed: ParsedLines) -> int | None:
        """Add what the lines hold; returns where the last record ends in the stream, None without any."""
        lines = self._lines_of_processes(found)
        rows = self._rows_at_once(found, lines)
        if rows is not None and self._are_alike(lines, rows):
            return self._add_alike(lines, rows, _records_among(rows, found), parsed)
        launches, series = self._launches, self._series
        unlabelled, main, end = UnlabelledRows([], [], []), None, None
        is_noted, is_steady = False, False
        for row, at, process, is_alone, start, end in self._records(found, lines, rows):
            if is_steady:
                launches.note_steady_step(at, is_named=bool(row.labels))
            else:
                launches.note_step(row, at, parsed, is_named=bool(row.labels))
                is_steady = launches.is_steady
            if is_alone and not row.labels:
                if main != process:
                    series.labels_of_process(process)
                    main = process
                unlabelled.add(row, start, end)
                continue
            if unlabelled.rows:
                launches.add_unlabelled(unlabelled, parsed)
                unlabelled = UnlabelledRows([], [], [])
            parsed.rows += self._rows_of_process(row, process)
            if not is_noted or launches.restarts:  # nothing comes between these lines
                launches.note_record(parsed)
                is_noted = True
        launches.add_unlabelled(unlabelled, parsed)
        return end

    def add_over_gaps(self, found: FoundTable, parsed: ParsedLines, begin: int) -> int | None:
        """Add the records of lines with other text between, if all continue and it shows no launch.

        `begin` is where the block begins in the stream. Returns where the last record ends in the stream,
        None if nothing was added.
        """
        process = found.process
        if self._redrawn.has_any or not self._series.is_alone(process):
            return None
        lines, state = found.by_process(), self._states.of(process)
        if any(labels != process for *_, labels in lines):
            return None
        is_settled = self._launches.is_settled(1) and self._launches.is_steady
        if "passes" in known_axis(state) or not (is_settled and are_steady(lines, state)):
            return None
        first, last = found.offset + found.starts[0] - begin, found.offset + found.ends[-1] - begin
        if not self._launches.opening.is_quiet(first, last):
            return None
        rows = rows_in_order(lines)
        records = _records_among(rows, found)
        if not (self._are_alike(lines, rows) and self._launches.all_continue(records.rows)):
            return None
        note_steady_lines(lines, state)
        return self._add_alike(lines, rows, records, parsed)

    def _rows_at_once(
        self, found: FoundTable, lines: Sequence[LinesOfProcess]
    ) -> Sequence[LogRow | None] | None:
        """The row of each line, where all can be read at once."""
        if len(found.starts) < _FEWEST_AT_ONCE or self._redrawn.has_any:
            return None
        processes = {process for *_, process in lines}
        return rows_at_once(lines, self._states.of) if self._launches.is_settled(len(processes)) else None

    def _are_alike(self, lines: Sequence[LinesOfProcess], rows: Sequence[LogRow | None]) -> bool:
        """Whether all rows are records of one process that is alone, or of others, at their own steps."""
        processes = {id(process): process for *_, process in lines}.values()
        if len(processes) > 1 and any(map(self._series.is_alone, processes)):
            return False
        if any("passes" in known_axis(self._states.of(process)) for process in processes):
            return False
        announced = sum(last - first for table, first, last, _ in lines if not table.has_values)
        return [*rows].count(None) == announced and all(
            [
                row is None or (row[2] and not row[3] and -LARGEST_STEP <= row[0] <= LARGEST_STEP)
                for row in rows
            ]
        )

    def _add_alike(
        self,
        lines: Sequence[LinesOfProcess],
        rows: Sequence[LogRow | None],
        records: UnlabelledRows,
        parsed: ParsedLines,
    ) -> int | None:
        """Add the `records` among the rows of all lines; see `_are_alike`."""
        launches, series = self._launches, self._series
        if not records.rows:
            return None
        launches.note_step(records.rows[0], records.rows[0].step, parsed, is_named=False)
        process = next(process for table, *_, process in lines if table.has_values)
        is_alone, labels = series.is_alone(process), series.labels_of_process(process)
        if not is_alone:
            launches.note_record(parsed)
        launches.note_steady_steps(records.rows)
        if is_alone:
            launches.add_unlabelled(records, parsed)
            return records.ends[-1]
        of_process, line = {id(process): labels}, 0
        for table, first, last, process in lines:
            if not table.has_values:
                line += last - first
                continue
            if (of_lines := of_process.get(id(process))) is None:
                of_lines = of_process[id(process)] = series.labels_of_process(process)
            for row in rows[line : line + last - first]:
                assert row is not None, "a line with values"
                parsed.rows += [LogRow(row.step, row.time, row.values, each) for each in of_lines]
            line += last - first
        return records.ends[-1]

    def _records(
        self, found: FoundTable, lines: Sequence[LinesOfProcess], at_once: Sequence[LogRow | None] | None
    ) -> Iterator[_TableRecord]:
        """The records of the lines, each read once those before it are added, unless all are read."""
        offset, starts, ends = found.offset, found.starts, found.ends
        line, has_redrawn = 0, self._redrawn.has_any
        for table, first, last, process in lines:
            state = self._states.of(process)
            if at_once is None:
                of_table: Sequence[LogRow | None] = table.rows(first, last, state)
            else:
                of_table = at_once[line : line + last - first]
            if not table.has_values:  # what they announce is noted
                line += last - first
                continue
            rows = rows_at_steps(of_table, state)
            is_alone = self._series.is_alone(process)
            for row, at in rows:
                start, line = offset + starts[line], line + 1
                if row is None or not (row.values and self._is_storable(row.step, start)):
                    continue
                if has_redrawn and self._redrawn.is_at(start):
                    row = row._replace(is_provisional=True)
                yield row, at, process, is_alone, start, offset + ends[line - 1]

    def _lines_of_processes(self, found: FoundTable) -> list[LinesOfProcess]:
        """The lines of each process below one another."""
        if not self._redrawn.has_any:
            return found.by_process()
        line, lines = 0, list[LinesOfProcess]()
        for table, begin, end, _ in found.parts:
            places = [found.offset + at for at in found.starts[line : line + end - begin]]
            lines += [(table, *part) for part in self._redrawn.parts(table.by_process(begin, end), places)]
            line += end - begin
        return lines

    def _rows_of_process(self, row: LogRow, process: Labels) -> list[LogRow]:
        """A row for each series of a process that gets its values, with the label of its training."""
        if not row.labels:
            labels = self._series.labels_of_process(process)
        else:
            row = self._launches.of_training(row)
            labels = self._series.labels_of(row.labels, process)
        return [LogRow(row.step, row.time, row.values, each, *row[4:]) for each in labels]


def _records_among(rows: Sequence[LogRow | None], found: FoundTable) -> UnlabelledRows:
    """The records among the rows of some lines, with where each begins and ends in the stream."""
    offset, lines = found.offset, zip(rows, found.starts, found.ends, strict=True)
    records = [(row, offset + start, offset + end) for row, start, end in lines if row is not None]
    return UnlabelledRows(*map(list, zip(*records, strict=True))) if records else UnlabelledRows([], [], [])
