"""Adds the records of tables: of lines of known layouts below one another, which are parsed in columns.

What is added is the same as if each line were parsed by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from holter.ingest.console.block_search import FoundTable
from holter.ingest.console.interleaved_writers import UnlabelledRows
from holter.ingest.console.launch_records import LaunchRecords
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.process_rows import rows_of_parts
from holter.ingest.console.process_series import ProcessSeries
from holter.ingest.console.process_states import ProcessStates
from holter.ingest.console.redrawn_lines import RedrawnLines
from holter.ingest.console.steady_rows import LinesOfProcess, steady_rows
from holter.ingest.rows import LogRow
from holter.types import Labels

_TableRecord = tuple[LogRow, int, Labels, bool, int, int]
"""A row, the step of the training there, the process that printed it, whether that is alone, and where its
line begins and ends."""

_FEWEST_AT_ONCE = 16
"""Lines of a table that are read at once: fewer are read sooner one after another."""


class TableRecords:
    """Adds the records of tables to those of their launches.

    `is_storable` says whether a step can be stored, which is a problem of the line at a position if not.
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
        if (steady := self._steady_rows(found)) is not None:
            return self._add_steady(*steady, found, parsed)
        launches, series = self._launches, self._series
        unlabelled, main, end = UnlabelledRows([], [], []), None, None
        is_noted, is_steady = False, False
        for row, at, process, is_alone, start, end in self._records(found):
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

    def _steady_rows(self, found: FoundTable) -> tuple[list[LogRow], Sequence[LinesOfProcess]] | None:
        """The row of each line where all can be read at once, of one process that is alone or of others."""
        if len(found.starts) < _FEWEST_AT_ONCE or self._redrawn.has_any:
            return None
        if not all(table.counts_alone for table, *_ in found.parts):
            return None
        parts = [(table, *lines) for table, *part, _ in found.parts for lines in table.by_process(*part)]
        processes = {id(process): process for *_, process in parts}.values()
        if len(processes) > 1 and any(map(self._series.is_alone, processes)):
            return None
        rows = steady_rows(parts, self._states.of) if self._launches.is_settled(len(parts)) else None
        return None if rows is None else (rows, parts)

    def _add_steady(
        self,
        rows: list[LogRow],
        parts: Sequence[LinesOfProcess],
        found: FoundTable,
        parsed: ParsedLines,
    ) -> int:
        """Add the rows of all lines; see `_steady_rows`."""
        launches, series, offset = self._launches, self._series, found.offset
        launches.note_step(rows[0], rows[0].step, parsed, is_named=False)
        is_alone, labels = series.is_alone(process := parts[0][3]), series.labels_of_process(process)
        if not is_alone:
            launches.note_record(parsed)
        launches.note_steady_steps(rows)
        if is_alone:
            places = ([offset + at for at in found.starts], [offset + at for at in found.ends])
            launches.add_unlabelled(UnlabelledRows(rows, *places), parsed)
            return offset + found.ends[-1]
        of_process, line = {id(process): labels}, 0
        for _, first, last, process in parts:
            if (of_lines := of_process.get(id(process))) is None:
                of_lines = of_process[id(process)] = series.labels_of_process(process)
            for row in rows[line : line + last - first]:
                parsed.rows += [LogRow(row.step, row.time, row.values, each) for each in of_lines]
            line += last - first
        return offset + found.ends[-1]

    def _records(self, found: FoundTable) -> Iterator[_TableRecord]:
        """The records of the lines, each read once those before it are added."""
        offset, starts, ends = found.offset, found.starts, found.ends
        line, has_redrawn = 0, self._redrawn.has_any
        for table, begin, end, _ in found.parts:
            parts = table.by_process(begin, end)
            if has_redrawn:
                places = [offset + at for at in starts[line : line + end - begin]]
                parts = self._redrawn.parts(parts, places)
            every = rows_of_parts(table, parts, self._states.of, is_settled=self._launches.is_settled)
            if not table.has_values:  # what they announce is noted
                deque(chain.from_iterable(every), maxlen=0)
                line += end - begin
                continue
            for (_, _, process), rows in zip(parts, every, strict=True):
                is_alone = self._series.is_alone(process)
                for row, at in rows:
                    start, line = offset + starts[line], line + 1
                    if row is None or not (row.values and self._is_storable(row.step, start)):
                        continue
                    if has_redrawn and self._redrawn.is_at(start):
                        row = row._replace(is_provisional=True)
                    yield row, at, process, is_alone, start, offset + ends[line - 1]

    def _rows_of_process(self, row: LogRow, process: Labels) -> list[LogRow]:
        """A row for each series of a process that gets its values, with the label of its training."""
        if not row.labels:
            labels = self._series.labels_of_process(process)
        else:
            row = self._launches.of_training(row)
            labels = self._series.labels_of(row.labels, process)
        return [LogRow(row.step, row.time, row.values, each, *row[4:]) for each in labels]
