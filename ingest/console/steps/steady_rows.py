"""The rows of lines of several layouts in turn that count steps, and nothing else.

In the middle of a training nearly all lines of many texts are such. What one states about steps below depends
on none before it, so that they are read at once, however often the layout changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import itemgetter

from holter.ingest.console.dialect import DialectState, LinesOfProcess, LineTable
from holter.ingest.rows import LogRow

_table = itemgetter(0)


def tables_of(parts: Sequence[LinesOfProcess]) -> set[LineTable]:
    """The tables of some parts."""
    return {*map(_table, parts)}


def are_steady(parts: Sequence[LinesOfProcess], state: DialectState) -> bool:
    """Whether lines count steps in this state, and what is between them announces steps and nothing else."""
    tables = tables_of(parts)
    with_values = [table for table in tables if table.has_values]
    return (
        bool(with_values)
        and all(table.counts_on(state) for table in with_values)
        and all(table.announces_steps for table in tables if not table.has_values)
    )


def steady_rows(parts: Sequence[LinesOfProcess], state: DialectState) -> list[LogRow | None]:
    """The row of each line, in their order, which are noted in this state; they `are_steady`."""
    note_steady_lines(parts, state)
    return rows_in_order(parts)


def note_steady_lines(parts: Sequence[LinesOfProcess], state: DialectState) -> None:
    """Note lines that `are_steady` in this state."""
    for table, first, last, _ in _parts_at_last_step(parts):
        table.rows(first, last, state)


def rows_in_order(parts: Sequence[LinesOfProcess]) -> list[LogRow | None]:
    """The row of each line of some that `are_steady`; None for those that announce a step."""
    of_tables: dict[LineTable, Sequence[LogRow | None]] = {
        table: table.steady_rows for table in tables_of(parts) if table.has_values
    }
    rows: list[LogRow | None] = []
    for table, first, last, _ in parts:
        if not table.has_values:
            rows += [None] * (last - first)
            continue
        if last - first == 1:
            rows.append(of_tables[table][first])
        else:
            rows += of_tables[table][first:last]
    return rows


def _parts_at_last_step(parts: Sequence[LinesOfProcess]) -> list[LinesOfProcess]:
    """The parts at the last step of a process, the one before these, and the last one of each table.

    What is known behind all of them is the names of values at the last step, of whatever layouts these are,
    which names each layout has, and what the last line that announces a step does. The first lines forget
    what was announced above, and the first one that announces a step may be the first of the text.
    """
    of_tables = dict(zip(map(_table, parts), count()))
    places = [place for place, part in enumerate(parts) if part[0].has_values]
    begin = len(places) - 1
    while begin and _are_at_same_step(parts[places[begin - 1]], parts[places[begin]]):
        begin -= 1
    chosen = {0, places[0], *of_tables.values(), *places[max(begin - 1, 0) :]}
    if len(places) < len(parts):
        chosen.add(next(place for place, part in enumerate(parts) if not part[0].has_values))
    return [parts[place] for place in sorted(chosen)]


def _are_at_same_step(before: LinesOfProcess, part: LinesOfProcess) -> bool:
    """Whether all lines of a part are at the last step of the one before."""
    table, first, last, _ = part
    return table.step_of(first) == table.step_of(last - 1) == before[0].step_of(before[2] - 1)
