"""Counts lines that name their epoch alone, where there are more of them than processes print."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.alike_lines import are_alike

MOST_LINES_OF_EPOCH = 8
"""Lines of one kind that processes print in one epoch."""
_MOST_LINES_OF_ONE_WRITER = 2
"""The same where the program printed its opening lines once: it may print and log each line."""
_EPOCHS_UNCOUNTED = 3
"""Epochs in a row with fewer lines than batches have, behind which more lines of one are no batches."""


def count_line(number: int, state: DialectState, kind: str, most: int = MOST_LINES_OF_EPOCH) -> int:
    """The step of a line in a log whose lines name their epoch alone: the epoch, or a count of such lines.

    Several lines of an epoch may be those of several processes, which print their opening lines as often.
    More than the `most` that these have are losses of batches that name their epoch alone: these lines are
    counted from there on.
    """
    if state.pop("may begin", False) and number <= state.get("lines", (kind, number))[1]:
        state.pop("counted", None)  # of the launch before
        state.pop("lines", None)
    if "counted" in state:
        _, last, step = state["counted"]
        if number > last:
            first = state.setdefault("first of lines", last)
            state["lines of epoch"] = (step + 1 - first) // (number - first)
        is_late = "opening" in state and number == last - 1  # of a slower process
        step = step + 1 if is_late or number >= last else number
        state["counted"] = [kind, last if is_late else number, step]
        state.pop("ended", None)
        return int(step)
    first, epoch, before = state.get("lines", (kind, number, 0))
    lines = int(before)
    if epoch != number:
        if "counts lines" not in state:
            state["counts lines"] = are_alike(lines, state)
        if state["counts lines"]:
            state["counted"] = [kind, number, epoch + lines]
            return int(epoch) + lines
        state["uncounted"] = state.get("uncounted", 0) + 1 if number > epoch else 0
        first, lines = kind, 0
    lines += int(first == kind)
    state["lines"] = [first, number, lines]
    most = _MOST_LINES_OF_ONE_WRITER if "opening" in state else most
    is_settled = state.get("uncounted", 0) >= _EPOCHS_UNCOUNTED
    if (lines > most and not is_settled) or state.get("counts lines"):  # so it was in the launch before
        state["counts lines"] = True
        first = state.get("first of lines", number)
        if number > first:  # a launch that resumes, where the epochs before had so many lines
            lines += (number - first) * (state["lines of epoch"] - 1)
        state["counted"] = [kind, number, number + lines - 1]
        return int(number + lines - 1)
    return number


def note_uncounted(state: DialectState) -> None:
    """Note that each line is at the epoch that it names, as nothing shows otherwise."""
    state.setdefault("counts lines", False)
