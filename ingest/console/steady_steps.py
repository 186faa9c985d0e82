"""Lines that count nothing but steps, in the middle of a training: nearly all lines of many texts."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.step_axis import has_global_steps
from holter.ingest.console.step_without_epoch import note_step_without_epoch, passes_before

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
_STATED_ABOVE |= {"evaluated above", "evaluated since"}
"""What lines above may say of lines that count nothing but steps."""


def counts_steps_on(last: int, state: DialectState, *, is_global: bool) -> bool:
    """Note lines that count steps up to the last one, where nothing above says anything else of these.

    Returns whether nothing does. For nearly all lines this is what noting all that may be said comes to.
    """
    if state.get("alone") is not True or not state.keys().isdisjoint(_STATED_ABOVE):
        return False
    if is_global:
        if not has_global_steps(state):
            return False
    elif passes_before(state):
        return False
    else:
        note_step_without_epoch(last, state)
    state["split"], state["step"] = "", last
    return True
