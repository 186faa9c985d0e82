"""The rows of lines of one layout that several processes print in turn.

Steps depend on earlier lines of the same process alone: those of each are read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.console.evaluation_passes import trained_at
from holter.ingest.console.step_axis import known_axis
from holter.ingest.rows import LogRow
from holter.types import Labels

RowAt = tuple[LogRow | None, int]
"""What a line holds, and the step of the training there."""
PartOfTable = tuple[int, int, Labels]
"""Lines with the same labels: the first one, the one behind the last, and the labels."""


def rows_of_parts(
    table: LineTable,
    parts: Sequence[PartOfTable],
    state_of: Callable[[Labels], DialectState],
    *,
    is_settled: Callable[[int], bool],
) -> Iterable[Iterable[RowAt]]:
    """The rows of each part, one after another.

    Several are read at once where it `is_settled` that processes do not depend on one another meanwhile.
    """
    if len(parts) == 1:
        [(first, last, process)] = parts
        return (rows_of_lines(table, first, last, state_of(process)),)
    return _rows_in_turn(table, parts, state_of, at_once=is_settled(len(parts)))


def _rows_in_turn(
    table: LineTable,
    parts: Sequence[PartOfTable],
    state_of: Callable[[Labels], DialectState],
    *,
    at_once: bool,
) -> Iterator[Iterable[RowAt]]:
    by_process: dict[Labels, list[int]] = {}
    for first, last, process in parts if at_once else ():
        by_process.setdefault(process, []).extend(range(first, last))
    states = {process: state_of(process) for process in by_process if len(by_process) < len(parts)}
    if not states or len(set(map(id, states.values()))) < len(states):
        for first, last, process in parts:
            yield rows_of_lines(table, first, last, state_of(process))
        return
    rows = {process: _rows_of_process(table, lines, states[process]) for process, lines in by_process.items()}
    for first, last, process in parts:
        yield islice(rows[process], last - first)


def _rows_of_process(table: LineTable, lines: Sequence[int], state: DialectState) -> Iterator[RowAt]:
    """The rows of some lines of a process, which are read once the first one is asked for."""
    yield from rows_of_lines(table.of_lines(lines), 0, len(lines), state)


def rows_of_lines(table: LineTable, first: int, last: int, state: DialectState) -> Sequence[RowAt]:
    """The rows of some lines of a process."""
    rows, axis = table.rows(first, last, state), known_axis(state)
    if "passes" not in axis:
        return [(row, 0 if row is None else row.step) for row in rows]
    return [(row, 0 if row is None else trained_at(row.step, axis)) for row in rows]
