"""The rows of lines of several layouts and processes in turn that count steps, and nothing else.

In the middle of a training nearly all lines of many texts are such. What one says of the steps below depends
on none before it, so that they are read at once, however often the layout and the process change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holter.ingest.console.dialect import DialectState, LineTable
from holter.ingest.console.step_axis import known_axis
from holter.ingest.rows import LogRow
from holter.types import Labels

LinesOfProcess = tuple[LineTable, int, int, Labels]
"""Lines of a table with the same labels: the first one and the one behind the last."""


def steady_rows(
    parts: Sequence[LinesOfProcess], state_of: Callable[[Labels], DialectState]
) -> list[LogRow] | None:
    """The row of each line, in their order; None if any may depend on lines before it: none is noted then."""
    known: dict[tuple[int, int], tuple[Sequence[LogRow], list[LinesOfProcess]]] = {}
    of_states: dict[int, tuple[DialectState, list[LinesOfProcess]]] = {}
    rows: list[LogRow] = []
    for part in parts:
        table, first, last, process = part
        key = (id(table), id(process))
        if key not in known:
            state = state_of(process)
            of_table = table.steady_rows(state)
            if of_table is None or "passes" in known_axis(state):
                return None
            known[key] = of_table, of_states.setdefault(id(state), (state, []))[1]
        of_table, of_state = known[key]
        of_state.append(part)
        if last - first == 1:
            rows.append(of_table[first])
        else:
            rows += of_table[first:last]
    for state, of_state in of_states.values():
        for table, first, last, _ in _decisive(of_state):
            table.rows(first, last, state)
    return rows


def _decisive(parts: Sequence[LinesOfProcess]) -> list[LinesOfProcess]:
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


def _are_at_same_step(before: LinesOfProcess, part: LinesOfProcess) -> bool:
    """Whether all lines of a part are at the last step of the one before."""
    table, first, last, _ = part
    return table.step_of(first) == table.step_of(last - 1) == before[0].step_of(before[2] - 1)
