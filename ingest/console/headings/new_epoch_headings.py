"""Headings of epochs without a number: `Start epoch :`, `=== New epoch ===`. Each is that of the next epoch.

The first one of a launch is above its first epoch, and one behind values is above the next epoch. Where a
line states the number of an epoch, that counts.
"""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState, LineKind
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.announced_steps import note_epoch
from holter.ingest.console.steps.epochs_of_headings import FIRST, UNNUMBERED
from holter.ingest.console.steps.evaluated_parts import end_evaluation
from holter.ingest.console.steps.opening_values import is_above_first


def _note(line: str, state: DialectState) -> None:
    axis = state.setdefault("plain lines", {})
    last = axis.pop(UNNUMBERED, None)
    if last is None and not is_above_first(axis):
        return
    number = FIRST
    if last is not None and "may begin" not in axis:
        number = last + (last in (axis.get("lines", (None, None))[1], axis.get("epoch", (None,))[0]))
    end_evaluation(axis)
    note_epoch({Counter.EPOCH: (number, 0)}, axis)
    axis[UNNUMBERED] = number


NEW_EPOCH_HEADINGS = LineKind(
    pattern=LinearPattern(
        rb"(?im)^(?:[^\n]{0,80}[\]|>:-] {1,4})?[^\w\n]{0,40}"
        rb"(?:(?:start|begin)(?:n?ing)?(?: of)?(?: the| a)?(?: new| next)?|new|next) epoch[^\w\n]{0,40}$"
    ),
    parse=_note,
    any_program=True,
)
"""Lines that announce an epoch and nothing else."""
