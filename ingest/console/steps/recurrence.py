"""Notes lines that come again and again with other numbers: those are records, whatever their names are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.dialect import DialectState, LineValues
from holter.ingest.console.line.line_settings import is_learning_rate
from holter.types import Labels

_LEAST_STEPS = 3
_MAX_KINDS = 64
_MAX_LINES = 32
"""Lines of one kind that wait for the step that shows that they recur."""


def recurring_values(
    values: Mapping[str, float],
    step: int,
    state: DialectState,
    time: float,
    labels: Labels | None,
    subject: Mapping[str, str] | None = None,
) -> list[LineValues] | None:
    """The values of a line of this subject, if such lines recur, and those of the first ones when it is seen.

    That is at the third step that has one, if the numbers vary: settings may be printed as often. Learning
    rates that are the same need not vary where as many wait as can. Zeros next to lines that vary are what
    never happened.
    """
    kinds: dict[str, list[Any]] = state.setdefault("recurring", {})
    kind = "\n".join((*values, *(subject or {}).values()))
    if not values or (kind not in kinds and len(kinds) >= _MAX_KINDS):
        return None
    known = kinds.setdefault(kind, [0, step - 1, []])
    steps, last, waiting = known
    if step < last and steps < _LEAST_STEPS:  # another launch began: those of the one before are few
        steps, last, waiting = 0, step - 1, []
    if steps >= _LEAST_STEPS:
        return [LineValues(step, values, time, labels)]
    known[:] = [steps + (step != last), step, [*waiting, [step, dict(values)]][-_MAX_LINES:]]
    if known[0] < _LEAST_STEPS:
        return None
    is_constant = all(earlier == values for _, earlier in waiting)
    is_constant &= len(waiting) + 1 < _MAX_LINES or not all(map(is_learning_rate, values))
    if is_constant and (any(values.values()) or not _has_others(kinds, last)):
        known[0] -= 1
        return None
    waiting, known[2] = known[2], []
    *first, (_, present) = waiting
    return [
        *(LineValues(at, found, labels=labels, is_late=True) for at, found in first),
        LineValues(step, present, time, labels),
    ]


def leave_waiting(step: int, state: DialectState) -> None:
    """Note the step at which a launch was left for lines that wait: one before it is of another launch."""
    for known in state.get("recurring", {}).values():
        if known[0] < _LEAST_STEPS:
            known[1] = max(known[1], step)


def _has_others(kinds: Mapping[str, list[Any]], step: int) -> bool:
    """Whether lines of another kind that varies came at a step, or later."""
    return any(
        steps >= _LEAST_STEPS and last >= step and not waiting for steps, last, waiting in kinds.values()
    )
