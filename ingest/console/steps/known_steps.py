"""What is known of the steps of a text: whether lines count them, alone or within epochs."""

from __future__ import annotations

from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.line_counts import Counts
from holter.ingest.console.steps.lone_steps import is_undecided
from holter.ingest.console.steps.step_without_epoch import passes_before

EVALUATES_ALONE = "evaluates alone"
"""The data that a launch evaluates, of which a command states that it trains nothing."""


def known_axis(state: DialectState) -> dict[str, Any]:
    """What is known of the steps of a text so far; nothing where no plain line has counted any."""
    axis: dict[str, Any] = state.get("plain lines", {})
    return axis


def has_steps(state: DialectState, kind: str = "") -> bool:
    """Whether steps were printed: within epochs, in lines or in a progress bar, or by themselves.

    So were lines that are their own steps, for lines of other kinds.
    """
    if "begun" in state:
        return False
    if "epoch" in state or "bar" in state or state.get("alone") or has_global_steps(state):
        return True
    return "counted" in state and state["counted"][0] != kind


def has_steps_alone(state: DialectState) -> bool:
    """Whether all lines so far counted steps and named no epoch."""
    return state.get("alone") is True and state.keys().isdisjoint(("announced", "epoch"))


def counts_epochs_alone(state: DialectState) -> bool:
    """Whether the records so far named their epoch alone: a step is that of something else."""
    return "lines" in state and not has_steps(state)


def counts_steps_alone(state: DialectState) -> bool:
    """Whether the last lines counted steps, and none so far named an epoch; there may be just one."""
    return "alone" in state and state.keys().isdisjoint(("announced", "epoch", "bar"))


def has_global_steps(state: DialectState) -> bool:
    """Whether a line has stated the step of all."""
    return "global" in state


def note_global_steps(state: DialectState, epoch: tuple[int, int] | None = None) -> None:
    """Note that a line has stated the step of all, and maybe its epoch with their total."""
    state["global"] = True
    if epoch is not None and epoch[1]:
        state["epoch of steps"] = [*epoch]


def note_steps_alone(lines: int, state: DialectState) -> None:
    """Note lines that count steps and no epoch; one such line at the beginning shows nothing yet."""
    if lines and state.get("alone") is not True:
        state["alone"] = lines > 1 or "alone" in state


def is_end_of_epoch(counts: Counts, state: DialectState, kind: str = "") -> bool:
    """Whether a line counts nothing but the epoch whose batches or steps were printed before."""
    return not counts.keys() - {Counter.EPOCH} and has_steps(state, kind)


def stated_step(counts: Counts, state: DialectState) -> int | None:
    """The step that a line counts, where it is one of all: no line so far named an epoch, or these go on."""
    if Counter.GLOBAL_STEP in counts:
        return counts[Counter.GLOBAL_STEP][0]
    is_of_all = "alone" in state and state.keys().isdisjoint(("announced", "epoch", "ended", "bar"))
    is_of_all |= state.get("restarts") is False
    return counts[Counter.STEP][0] if counts.keys() == {Counter.STEP} and is_of_all else None


def is_behind(counts: Counts, state: DialectState) -> bool:
    """Whether what a line counts is not beyond what lines before it counted."""
    if not counts:
        return False
    epoch = state.get("epoch") or state.get("announced")
    if Counter.EPOCH in counts and epoch is not None:
        return counts[Counter.EPOCH][0] <= int(epoch[0])
    axis = min(counts)
    return "step" in state and counts[axis][0] <= int(state["step"])


def number_of_epoch(number: int, state: DialectState) -> int:
    """The number of an epoch where a framework counts from 0, and prints numbers from 1.

    Other lines below its heading, such as those of callbacks, may have either.
    """
    printed, counted = state.get("headed", (None, 0))
    return int(counted) if number == printed else number


def end_of_epoch(number: int, state: DialectState) -> int | None:
    """The last step of an epoch that is over, None if unknown; where lines count epochs alone, the epoch."""
    if not has_steps(state):
        return number
    length = int(state.get("length", 0))
    if not (length and state.get("restarts")):
        return None
    return (number - int(state["first epoch"]) + 1) * length - ("from zero" in state)


def may_count_lines(state: DialectState) -> bool:
    """Whether lines that name their epoch alone may turn out to be counted: its first epoch is not over."""
    return "counts lines" not in state and not has_steps(state)


def lines_of_first_epoch(state: DialectState) -> int:
    """The lines of the first epoch so far, while it is unknown whether these are counted; 0 once it is."""
    return int(state["lines"][2]) if "lines" in state and may_count_lines(state) else 0


def may_be_lone(counts: Counts, state: DialectState) -> bool:
    """Whether a line that counts steps and no epoch may be one within epochs that were counted so far."""
    if not counts.keys().isdisjoint((Counter.EPOCH, Counter.GLOBAL_STEP)):
        return False
    return is_undecided(state) or ("lines" in state and not has_steps(state))


def counts_on(state: DialectState) -> bool:
    """Whether lines that count steps and no epoch are at these: no line above states more."""
    if not state.keys().isdisjoint(("announced", "bar", "ended", "evaluated since", EVALUATES_ALONE)):
        return False
    return not (passes_before(state) or may_be_lone({}, state))
