"""The rows of lines of several layouts in turn that count steps, and nothing else.

In the middle of a training nearly all lines of many texts are such. What one states about steps below depends
on none before it, so that they are read at once, however often the layout changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.rows import LogRow
from holter.types import Labels

LinesOfProcess = tuple[LineTable, int, int, Labels]
"""Lines of a table with the same labels: the first one, the one behind the last, and the labels."""


def steady_rows(parts: Sequence[LinesOfProcess], state: DialectState) -> list[LogRow]:
    """The row of each line, in their order, where all tables `count_on` in this state."""
    for table, first, last, _ in _parts_at_last_step(parts):
        table.rows(first, last, state)
    of_tables = {id(table): table.steady_rows for table, *_ in parts}
    rows: list[LogRow] = []
    for table, first, last, _ in parts:
        if last - first == 1:
            rows.append(of_tables[id(table)][first])
        else:
            rows += of_tables[id(table)][first:last]
    return rows


def _parts_at_last_step(parts: Sequence[LinesOfProcess]) -> list[LinesOfProcess]:
    """The parts at the last step of a process, the one before these, and the last one of each table.

    These alone set what is known behind all parts: the names of values at the last step, of whatever layouts
    these are, and which names each layout has.
    """
    places = {id(part[0]): place for place, part in enumerate(parts)}
    begin = len(parts) - 1
    while begin and _are_at_same_step(parts[begin - 1], parts[begin]):
        begin -= 1
    chosen = {*places.values(), *range(max(begin - 1, 0), len(parts))}
    return [parts[place] for place in sorted(chosen)]


def _are_at_same_step(before: LinesOfProcess, part: LinesOfProcess) -> bool:
    """Whether all lines of a part are at the last step of the one before."""
    table, first, last, _ = part
    return table.step_of(first) == table.step_of(last - 1) == before[0].step_of(before[2] - 1)
