"""The rows of lines of several layouts and processes in turn.

Lines depend on those before them of the same process that the same class of tables reads. These are read at
once, however many others are between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from holter.ingest.console.dialect import DialectState, LinesOfProcess
from holter.ingest.console.steps.evaluation_passes import trained_at
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.steady_epochs import rows_within_epochs
from holter.ingest.console.steps.steady_rows import are_steady, steady_rows, tables_of
from holter.ingest.rows import LogRow
from holter.types import Labels

RowAt = tuple[LogRow | None, int]
"""What a line holds, and the step of the training there."""
_Stream = tuple[DialectState, list[LinesOfProcess]]
"""Lines of which each may depend on those before it, and the state that they share."""


_Reader = Callable[[Sequence[LinesOfProcess], DialectState], Sequence[LogRow | None]]
"""Reads lines at once."""


def rows_at_once(
    lines: Sequence[LinesOfProcess], state_of: Callable[[Labels], DialectState]
) -> Sequence[LogRow | None] | None:
    """The row of each line, in their order.

    None if lines of several layouts may depend on one another: none is noted then.
    """
    tables = tables_of(lines)
    if len({*map(type, tables)}) == 1 and len({id(process) for *_, process in lines}) == 1:
        state = state_of(lines[0][3])
        reader = _reader_of(state, lines)
        return None if reader is None else reader(lines, state)
    streams: list[_Stream] = []
    numbers: dict[tuple[type, int], int] = {}
    known: dict[tuple[int, int], int] = {}
    of_lines: list[int] = []
    for part in lines:
        table, _, _, process = part
        if (number := known.get(of_part := (id(table), id(process)))) is None:
            state = state_of(process)
            number = known[of_part] = numbers.setdefault((type(table), id(state)), len(streams))
            if number == len(streams):
                streams.append((state, []))
        streams[number][1].append(part)
        of_lines.append(number)
    readers = [reader for stream in streams if (reader := _reader_of(*stream)) is not None]
    if len(readers) < len(streams):
        return None
    of_streams = [read(parts, state) for read, (state, parts) in zip(readers, streams, strict=True)]
    if len(of_streams) == 1:
        return of_streams[0]
    rows = [*map(iter, of_streams)]
    in_order: list[LogRow | None] = []
    for number, (_, first, last, _) in zip(of_lines, lines, strict=True):
        if last - first == 1:
            in_order.append(next(rows[number]))
        else:
            in_order += islice(rows[number], last - first)
    return in_order


def _reader_of(state: DialectState, parts: Sequence[LinesOfProcess]) -> _Reader | None:
    """What reads lines at once, None if nothing does."""
    tables = tables_of(parts)
    if "passes" in known_axis(state):
        return None
    if are_steady(parts, state):
        return steady_rows
    if not all(table.has_values for table in tables):
        return None
    if len(tables) == 1:
        return _rows_of_table
    return rows_within_epochs if all(table.within_epochs is not None for table in tables) else None


def _rows_of_table(parts: Sequence[LinesOfProcess], state: DialectState) -> Sequence[LogRow | None]:
    """The rows of lines of the same table."""
    (table, begin, *_), (_, _, end, _) = parts[0], parts[-1]
    lines = [line for _, first, last, _ in parts for line in range(first, last)]
    if len(lines) == end - begin:
        return table.rows(begin, end, state)
    return table.of_lines(lines).rows(0, len(lines), state)


def rows_at_steps(rows: Sequence[LogRow | None], state: DialectState) -> Sequence[RowAt]:
    """Rows that were read, each with the step of the training there."""
    axis = known_axis(state)
    if "passes" not in axis:
        return [(row, 0 if row is None else row.step) for row in rows]
    return [(row, 0 if row is None else trained_at(row.step, axis)) for row in rows]
