"""Where another launch begins, or may: what lines above stated is no position of what is below."""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.batch_rows import BATCH_ROWS
from holter.ingest.console.steps.epochs_of_headings import UNNUMBERED
from holter.ingest.console.steps.known_steps import EVALUATES_ALONE, known_axis
from holter.ingest.console.steps.other_units import forget_unit
from holter.ingest.console.steps.outer_counts import forget_outer_count
from holter.ingest.console.steps.recurrence import leave_waiting
from holter.ingest.console.steps.round_steps import forget_round
from holter.ingest.console.steps.timed_rows import TIMED_ROWS

_OF_POSITIONS = (
    "announced",
    "heading",
    "evaluating",
    "evaluated above",
    "parts",
    "ended",
    "lines",
    "headings",
    "counted",
    "uncounted",
    "bar",
    "laps",
    "first over",
    "all over",
    "alike behind",
    "begins at",
    "trains on",
    "given",
    "evaluated",
    "evaluated at",
    "epoch of steps",
    "trained in epoch",
    "evaluates later",
    "first announced",
    "fraction",
    "parts of epochs",
    "headed",
    "names",
    "names at",
    "names of epochs",
    "means",
    "epoch of bar",
    "epochs of bars",
    "bars begun",
    "names epochs",
    "may end",
    "ends at",
    "lone step",
    "of all trainings",
    "row above",
    "behind first row",
    "has values",
    EVALUATES_ALONE,
    UNNUMBERED,
)
"""What is known of a position by lines above it."""


def last_epochs(state: DialectState) -> list[int]:
    """The epochs that the last lines counted and announced, as far as they did."""
    axis = known_axis(state)
    return [int(axis[name][0]) for name in ("epoch", "announced") if name in axis]


def forget_position(state: DialectState) -> None:
    """Forget what lines above announced: another launch of the program begins."""
    for name in _OF_POSITIONS:
        state.pop(name, None)
    for name in {"opening settings", "opening names"} & state.keys():
        state[name] = dict.fromkeys(state[name])
    note_left(state)
    forget_unit(state)
    forget_round(state)
    forget_outer_count(state)
    for rows in (BATCH_ROWS, TIMED_ROWS):
        rows.begin(state)
    if (section := state.get("section")) is not None:
        named = {**section["first"], **section.get("next", {})}
        state["section"] = {"first": named, "now": named, "next": named}


def note_opening(state: DialectState) -> None:
    """Note that another launch may have begun: some of its opening lines came again."""
    state["may begin"] = True
    state.pop(EVALUATES_ALONE, None)
    state["epoch before"] = int(state["epoch"][0]) if "epoch" in state else 0
    state["epochs before"] = _total_of_epochs(state)
    note_left(state)


def is_in_other_epochs(state: DialectState) -> bool:
    """Whether the last line is of an epoch before that in which opening lines came again, or of others.

    Its step may be beyond, as where the next launch has more batches in an epoch, or counts others, or where
    a training that had ended is resumed: `Epoch 11/20` behind `Epoch 10/10`.
    """
    axis = known_axis(state)
    if 0 < axis.get("epochs before", 0) < _total_of_epochs(axis):
        return True
    return "epoch" in axis and int(axis["epoch"][0]) < axis.get("epoch before", 0)


def _total_of_epochs(state: DialectState) -> int:
    """The total of the epochs that the last line with one has, 0 without any."""
    return int(state.get("epochs of lines") or state.get("epochs") or state.get("announced", (0, 0))[1])


def note_left(state: DialectState) -> None:
    """Note the step at which a launch was left, as another one begins, or may."""
    if "step" in state:
        state["left"] = state["step"]
        leave_waiting(int(state["step"]), state)


def note_trained_steps(steps: Sequence[int], state: DialectState) -> None:
    """Note steps of a training: one other than that at which a launch was left is of the next launch."""
    left = state.get("left")
    if left is not None and any(step != left for step in steps):
        del state["left"]


def is_before_training(state: DialectState) -> bool:
    """Whether nothing was trained yet in a launch that began, or may have."""
    return "left" in state and state["left"] == state.get("step")


def begins_with_epoch(state: DialectState) -> bool:
    """Whether an epoch is announced in a launch of which no value was read yet."""
    is_announced = "announced" in state and state.keys().isdisjoint(("heading", "has values"))
    return is_announced and ("step" not in state or is_before_training(state))


def note_values(state: DialectState) -> None:
    """Note that values were read below the epoch that is announced."""
    if begins_with_epoch(state):
        state["has values"] = True
