"""The rows of lines of a training that count its epochs and the steps within them, and of its evaluations.

Within an epoch their step is a sum: the steps of the epochs before, and what the line counts. A line of an
evaluation that counts no steps is at the last one of the training.
"""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState, EpochLines, LinesOfProcess, LineTable
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.rows import LogRow

_FEWEST_PARTS = 8
"""Parts below one another within an epoch that are read at once."""
_STATED_ABOVE = {
    "bar",
    "begun",
    "best",
    "evaluating",
    "heading",
    "keys",
    "outer",
    "passes",
    "round",
    "section",
}
"""What lines above may state of lines within an epoch."""


def rows_within_epochs(parts: Sequence[LinesOfProcess], state: DialectState) -> list[LogRow | None]:
    """The row of each line, in their order; all tables have `within_epochs`."""
    rows: list[LogRow | None] = []
    at = 0
    while at < len(parts):
        end, steady = _steady_rows(parts, at, state)
        if end - at >= _FEWEST_PARTS:
            rows += steady
            for table, first, last, _ in _last_two_counted_parts(parts[at:end]):
                table.rows(first, last, state)
        else:
            end = max(end, at + 1)
            for table, first, last, _ in parts[at:end]:
                rows += table.rows(first, last, state)
        at = end
    return rows


def _steady_rows(parts: Sequence[LinesOfProcess], at: int, state: DialectState) -> tuple[int, list[LogRow]]:
    """The parts up to which lines continue within the epoch of the last one, and the rows of these lines."""
    axis, rows = known_axis(state), list[LogRow]()
    if not {"epoch", "step"} <= axis.keys() or not axis.keys().isdisjoint(_STATED_ABOVE):
        return at, rows
    number, last_inner = map(int, axis["epoch"])
    step, total = int(axis["step"]), axis.get("total", 0)
    before = 0 if axis.get("restarts") is False else int(axis.get("before", 0))
    of_epoch = ((number, 0), (number, axis.get("epochs", 0)))
    for place in range(at, len(parts)):
        table, first, last, _ = parts[place]
        epochs, inner, times, values = _lines_of(table)
        if inner is None:
            rows += [LogRow(step, times[line], values[line]) for line in range(first, last)]
            continue
        begin = len(rows)
        for line in range(first, last):
            count, of_total = inner[line]
            if epochs[line] not in of_epoch or count <= last_inner or of_total != total:
                del rows[begin:]
                return place, rows
            last_inner, step = count, before + count
            rows.append(LogRow(step, times[line], values[line]))
    return len(parts), rows


def _last_two_counted_parts(parts: Sequence[LinesOfProcess]) -> list[LinesOfProcess]:
    """The last two parts of the training, all that follows the first of them, and the last one of each table.

    These alone set what is known behind all parts: the last step and its distance from the one before, and
    which names each layout has.
    """
    chosen = {id(table): place for place, (table, *_) in enumerate(parts)}
    of_training = [place for place, (table, *_) in enumerate(parts) if _lines_of(table).inner is not None]
    behind = range(of_training[-2:][0], len(parts)) if of_training else ()
    return [parts[place] for place in sorted({*chosen.values(), *behind})]


def _lines_of(table: LineTable) -> EpochLines:
    lines = table.within_epochs
    assert lines is not None, "lines within epochs"
    return lines
