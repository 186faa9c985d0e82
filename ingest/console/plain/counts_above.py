"""Counts of a confusion matrix alone in a line, right above the results of the evaluation that they are of.

`Train loss: 0.6, tp: 2, fn: 9, fp: 1, tn: 88`, then `tp: 7, fn: 30, fp: 4, tn: 259` above `Val loss: 0.7`:
the line of the training has its counts already. Others wait for the line below, which states their data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.confusion_counts import confusion_counts
from holter.ingest.console.line.data_names import evaluation_of
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.console.plain.kept_lines import LineAbove, known_line
from holter.ingest.console.steps.known_steps import known_axis

_COUNTED, _WAITING = "counts of training", "counts above"


def note_counts(names: Sequence[str], axis: dict[str, Any]) -> None:
    """Note that a line of the training with these names has counts, and more than these."""
    if (counts := confusion_counts(names)) and len(names) > len(counts):
        axis[_COUNTED] = sorted(counts)


def may_have_counts(state: DialectState) -> bool:
    """Whether lines of nothing but counts wait: the training has some itself."""
    return _COUNTED in known_axis(state)


def waits_for_data(line: str, place: LineAbove, state: DialectState) -> bool:
    """Whether a line has nothing but counts, those that the training has: it waits for the line below it."""
    counts = known_axis(state).get(_COUNTED)
    if counts is None or place.message not in place.text:
        return False
    shape = known_line(line).shape
    if shape.counters or shape.split or sorted(field.name for field in shape.metrics) != counts:
        return False
    state[_WAITING] = place
    return True


def counts_due(line: str, state: DialectState) -> list[LineAbove]:
    """The counts that waited for this line, with its data before them if it has results of an evaluation."""
    if _WAITING not in state:
        return []
    waiting = LineAbove(*state.pop(_WAITING))
    data = _data_of(known_line(line).shape)
    return [waiting._replace(text=_with_words(data, waiting)) if data else waiting]


def _data_of(shape: LineShape) -> str:
    """The words for the data of a line of results as it has them itself; "" if it is of no evaluation."""
    if shape.counters or not shape.metrics:
        return ""
    first = shape.metrics[0].name
    data = shape.split or evaluation_of(first)
    of_name = DATA_SPLIT.match(first) if data else None
    return of_name[0] if of_name is not None else (f"{data}:" if data else "")


def _with_words(words: str, counts: LineAbove) -> str:
    """The text of a line with words before its first name, behind what a logger printed."""
    message = split_numbers(counts.message)
    place = counts.text.rfind(counts.message) + len(text_before(message, shape_of_line(message).metrics[0]))
    return f"{counts.text[:place]}{words} {counts.text[place:]}"


def remaining_counts(state: DialectState) -> list[LineAbove]:
    """The counts that still wait at the end of a launch."""
    return [LineAbove(*state.pop(_WAITING))] if _WAITING in state else []
