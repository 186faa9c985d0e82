"""Adds the records of tables: of lines of known layouts below one another, which are parsed in columns.

What is added is the same as if each line were parsed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from holter.ingest.console.block_search import FoundTable
from holter.ingest.console.interleaved_writers import UnlabelledRows
from holter.ingest.console.launch_records import LaunchRecords
from holter.ingest.console.parsed_lines import ParsedLines
from holter.ingest.console.process_rows import rows_of_parts
from holter.ingest.console.process_series import ProcessSeries
from holter.ingest.console.process_states import ProcessStates
from holter.ingest.console.redrawn_lines import RedrawnLines
from holter.ingest.rows import LogRow
from holter.types import Labels


class _TableRecord(NamedTuple):
    """A row, the step of the training there, the process that printed it, and where its line is."""

    row: LogRow
    at: int
    process: Labels
    start: int
    end: int


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
        launches, series = self._launches, self._series
        unlabelled, main, end = UnlabelledRows([], [], []), None, None
        is_noted, is_steady = False, False
        for row, at, process, start, end in self._records(found):
            if is_steady:
                launches.note_steady_step(at, is_named=bool(row.labels))
            else:
                launches.note_step(row, at, parsed, is_named=bool(row.labels))
                is_steady = launches.is_steady
            if not row.labels and series.is_alone(process):
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
            for (_, _, process), rows in zip(parts, every, strict=True):
                for row, at in rows:
                    start, line = offset + starts[line], line + 1
                    if row is None or not (row.values and self._is_storable(row.step, start)):
                        continue
                    if has_redrawn and self._redrawn.is_at(start):
                        row = row._replace(is_provisional=True)
                    yield _TableRecord(row, at, process, start, offset + ends[line - 1])

    def _rows_of_process(self, row: LogRow, process: Labels) -> list[LogRow]:
        """A row for each series of a process that gets its values, with the label of its training."""
        if not row.labels:
            labels = self._series.labels_of_process(process)
        else:
            row = self._launches.of_training(row)
            labels = self._series.labels_of(row.labels, process)
        return [LogRow(row.step, row.time, row.values, each, *row[4:]) for each in labels]
