"""The rows of lines of several layouts in turn that count steps, and nothing else.

In the middle of a training nearly all lines of many texts are such. What one says of the steps below depends
on none before it, so that they are read at once, however often the layout changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.rows import LogRow

PartOfTable = tuple[LineTable, int, int]
"""Lines of a table: the first one and the one behind the last."""


def steady_rows(parts: Sequence[PartOfTable], state: DialectState) -> Iterator[LogRow]:
    """The row of each line, in their order, where all tables `count_on` in this state."""
    for table, first, last in _decisive(parts):
        table.rows(first, last, state)
    return chain.from_iterable(table.steady_rows[first:last] for table, first, last in parts)


def _decisive(parts: Sequence[PartOfTable]) -> list[PartOfTable]:
    """The parts of a process without those that the others make forgotten.

    What is known behind all of them is the names of values at the last step, of whatever layouts these are,
    and which names each layout has.
    """
    places = {id(part[0]): place for place, part in enumerate(parts)}
    begin = len(parts) - 1
    while begin and _are_at_same_step(parts[begin - 1], parts[begin]):
        begin -= 1
    chosen = {*places.values(), *range(max(begin - 1, 0), len(parts))}
    return [parts[place] for place in sorted(chosen)]


def _are_at_same_step(before: PartOfTable, part: PartOfTable) -> bool:
    """Whether all lines of a part are at the last step of the one before."""
    table, first, last = part
    return table.step_of(first) == table.step_of(last - 1) == before[0].step_of(before[2] - 1)
