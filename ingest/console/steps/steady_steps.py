"""Lines that count nothing but steps, in the middle of a training: nearly all lines of many texts."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.step_axis import EVALUATES_ALONE, has_global_steps
from holter.ingest.console.steps.step_without_epoch import note_step_without_epoch, passes_before

_STATED_ABOVE = {
    "announced",
    "bar",
    "begun",
    "best",
    "ended",
    "evaluating",
    "heading",
    "keys",
    "outer",
    "section",
}
_STATED_ABOVE |= {"evaluated above", "evaluated since", EVALUATES_ALONE}
"""What lines above may say of lines that count nothing but steps."""


def counts_steps_on(last: int, state: DialectState, *, is_global: bool) -> bool:
    """Note lines that count steps up to the last one, where nothing above says anything else of these.

    Returns whether nothing does. For nearly all lines this is what noting all that may be said comes to.
    """
    if not may_count_on(state, is_global=is_global):
        return False
    if not is_global:
        note_step_without_epoch(last, state)
    state["split"], state["step"] = "", last
    return True


def may_count_on(state: DialectState, *, is_global: bool) -> bool:
    """Whether nothing above says anything else of lines that count steps; such lines change nothing of it."""
    if state.get("alone") is not True or not state.keys().isdisjoint(_STATED_ABOVE):
        return False
    return has_global_steps(state) if is_global else not passes_before(state)
