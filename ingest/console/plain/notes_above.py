"""A record in a comment above all others, such as a note by hand: `# Epoch 25/30 loss: 0.0461`.

It waits for the first line that counts. If this is before it and no comment, the note is about what follows.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.plain.kept_lines import LAST_OF_FIRST, KnownLine, LineAbove, known_line
from holter.ingest.console.plain.plain_line import counts_of_neighbor
from holter.ingest.console.steps.known_steps import known_axis
from holter.ingest.console.steps.positions import position

_COMMENT = re.compile(r"\s{0,8}(?:#{1,3}|//|;|%|--) ?(?=\w)")
_NOTE = "note"


def has_note(state: DialectState) -> bool:
    """Whether a record in a comment waits."""
    return _NOTE in state


def holds_note(line: str, place: LineAbove, state: DialectState) -> bool:
    """Whether a line waits as it is a record in a comment, beyond the first epoch or step."""
    if _NOTE in state or _COMMENT.match(line) is None or position(known_axis(state)) is not None:
        return False
    known = known_line(line)
    if not known.shape.is_record or (_number(known) or 0) <= LAST_OF_FIRST:
        return False
    state[_NOTE] = place
    return True


def note_due(line: str, state: DialectState) -> list[LineAbove]:
    """The record that waited for this line, if it is no note about what follows."""
    if _NOTE not in state:
        return []
    known = known_line(line)
    if not (known.shape.is_record or known.shape.is_heading) or (number := _number(known)) is None:
        return []
    note = LineAbove(*state.pop(_NOTE))
    is_beyond = number >= (_number(known_line(note.message)) or 0)
    return [note] if is_beyond or _COMMENT.match(line) is not None else []


def remaining_note(state: DialectState) -> list[LineAbove]:
    """The record that still waits at the end of a launch."""
    return [LineAbove(*state.pop(_NOTE))] if _NOTE in state else []


def _number(known: KnownLine) -> int | None:
    """What a line counts that shows most of its place among all: an epoch, before the batches within it."""
    counts = counts_of_neighbor(known.shape, known.numbers)
    return max(counts.items())[1][0] if counts else None
