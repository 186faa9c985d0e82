"""The rows of lines of several layouts and processes in turn.

Lines depend on those before them of the same process that the same class of tables reads. These are read at
once, however many others are between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.console.evaluation_passes import trained_at
from holter.ingest.console.steady_epochs import rows_within_epochs
from holter.ingest.console.steady_rows import PartOfTable, steady_rows
from holter.ingest.console.step_axis import known_axis
from holter.ingest.rows import LogRow
from holter.types import Labels

RowAt = tuple[LogRow | None, int]
"""What a line holds, and the step of the training there."""
LinesOfProcess = tuple[LineTable, int, int, Labels]
"""Lines of a table with the same labels: the first one, the one behind the last, and the labels."""
_Stream = tuple[DialectState, list[PartOfTable]]
"""Lines of which each may depend on those before it, and the state that they share."""


_Reader = Callable[[Sequence[PartOfTable], DialectState], "Sequence[LogRow | None] | Iterator[LogRow]"]
"""Reads lines at once."""


def rows_at_once(
    lines: Sequence[LinesOfProcess], state_of: Callable[[Labels], DialectState]
) -> Sequence[LogRow | None] | None:
    """The row of each line, in their order.

    None if lines of several layouts may depend on one another: none is noted then.
    """
    streams: dict[tuple[type, int], _Stream] = {}
    of_lines: list[tuple[type, int]] = []
    for table, first, last, process in lines:
        key = (type(table), id(state := state_of(process)))
        streams.setdefault(key, (state, []))[1].append((table, first, last))
        of_lines.append(key)
    readers = {key: reader for key, stream in streams.items() if (reader := _reader_of(*stream)) is not None}
    if len(readers) < len(streams):
        return None
    rows = {key: iter(readers[key](parts, state)) for key, (state, parts) in streams.items()}
    if len(rows) == 1:
        return [*chain.from_iterable(rows.values())]
    in_order: list[LogRow | None] = []
    for key, (_, first, last, _) in zip(of_lines, lines, strict=True):
        if last - first == 1:
            in_order.append(next(rows[key]))
        else:
            in_order += islice(rows[key], last - first)
    return in_order


def _reader_of(state: DialectState, parts: Sequence[PartOfTable]) -> _Reader | None:
    """What reads lines at once, None if nothing does."""
    tables = {id(table): table for table, *_ in parts}.values()
    if "passes" in known_axis(state) or not all(table.has_values for table in tables):
        return None
    if all(table.counts_on(state) for table in tables):
        return steady_rows
    if len(tables) == 1:
        return _rows_of_table
    return rows_within_epochs if all(table.within_epochs is not None for table in tables) else None


def _rows_of_table(parts: Sequence[PartOfTable], state: DialectState) -> Sequence[LogRow | None]:
    """The rows of lines of the same table."""
    (table, begin, _), (_, _, end) = parts[0], parts[-1]
    lines = [line for _, first, last in parts for line in range(first, last)]
    if len(lines) == end - begin:
        return table.rows(begin, end, state)
    return table.of_lines(lines).rows(0, len(lines), state)


def rows_of_lines(table: LineTable, first: int, last: int, state: DialectState) -> Sequence[RowAt]:
    """The rows of some lines of a process."""
    return rows_at_steps(table.rows(first, last, state), state)


def rows_at_steps(rows: Sequence[LogRow | None], state: DialectState) -> Sequence[RowAt]:
    """Rows that were read, each with the step of the training there."""
    axis = known_axis(state)
    if "passes" not in axis:
        return [(row, 0 if row is None else row.step) for row in rows]
    return [(row, 0 if row is None else trained_at(row.step, axis)) for row in rows]
