"""Lines that count nothing but steps, in the middle of a training: nearly all lines of many texts."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.known_steps import EVALUATES_ALONE, has_global_steps
from holter.ingest.console.steps.round_steps import is_within_outer_step
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
_STATED_ABOVE |= {"evaluated above", "evaluated since", "left", EVALUATES_ALONE}
"""What lines above may state of lines that count nothing but steps."""
_ANNOUNCED = {"heading", "outer"}
"""What a line that announces a step and nothing else states of them."""


def counts_steps_on(last: int, state: DialectState, *, is_global: bool) -> bool:
    """Note lines that count steps up to the last one, where nothing above states more about these.

    Returns whether nothing does. For nearly all lines this is what noting all that may be stated comes to.
    """
    if not may_count_on(state, is_global=is_global):
        return False
    if not is_global:
        note_step_without_epoch(last, state)
    state["split"], state["step"] = "", last
    return True


def may_count_on(state: DialectState, *, is_global: bool, behind_heading: bool = False) -> bool:
    """Whether nothing above states anything else of lines that count steps; such lines change nothing of it.

    `behind_heading`: but for a line that announced a step, which the first of them forgets.
    """
    is_announced = behind_heading and not is_within_outer_step(state)
    stated = _STATED_ABOVE - _ANNOUNCED if is_announced else _STATED_ABOVE
    if state.get("alone") is not True or not state.keys().isdisjoint(stated):
        return False
    return has_global_steps(state) if is_global else not passes_before(state)
