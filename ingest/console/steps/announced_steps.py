"""What lines without any metric announce: the epoch or the step of the lines below them."""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.epochs_of_headings import end_unnumbered
from holter.ingest.console.steps.evaluated_parts import end_evaluation, end_parts, is_heading_of_evaluation
from holter.ingest.console.steps.known_steps import number_of_epoch
from holter.ingest.console.steps.launch_beginnings import note_trained_steps
from holter.ingest.console.steps.line_counts import Counts, inner_count
from holter.ingest.console.steps.outer_counts import note_epoch_within
from holter.ingest.console.steps.round_steps import is_within_outer_step, note_outer_step
from holter.ingest.console.steps.stated_names import note_names
from holter.ingest.console.steps.step_axis import step_of_counts


def note_epoch(counts: Counts, state: DialectState) -> None:
    """Note the epoch that a line without any metric announces: lines of its batches follow."""
    if Counter.EPOCH in counts:
        number, epochs = counts[Counter.EPOCH]
        end_unnumbered(state)
        number, last = number_of_epoch(number, state), state.get("announced", [None])[0]
        note_epoch_within(number, state)
        if last != number:
            end_evaluation(state)
        state["headings"] = state.get("headings", 1) + 1 if last == number else 1
        may_begin = state.pop("may begin", False)
        if "first announced" not in state and "bar" in state:
            state["closes bars"] = True  # also the headings of later epochs are below their bars
        has_steps_above = state.get("epoch", [None])[0] == number
        has_steps_above |= "closes bars" in state and "bar" in state
        if last is not None and ((may_begin and number == last) or (number < last and not has_steps_above)):
            state["begun"] = True  # again: steps of the launch before state nothing of this one
            state.pop("evaluating", None)
            state.pop("counted", None)
            state.pop("lines", None)
        state["announced"] = [number, epochs]
        state.setdefault("first announced", number)


def note_heading(counts: Counts, state: DialectState) -> None:
    """Note the step of a line without any metric: lines of metrics follow.

    What is the only one, as in `Progress: 1/1`, states nothing of steps where others are known.
    """
    inner = inner_count(counts)
    if inner is not None and inner[1] == 1 and "announced" not in state and Counter.EPOCH not in counts:
        if "step" not in state:
            state["heading"] = inner[0]
        return
    if counts.keys() == {Counter.STEP}:
        note_outer_step(counts[Counter.STEP][0], state)
        if is_within_outer_step(state):
            return
    if is_heading_of_evaluation(counts, state):
        _begin_lines(state)
        return
    is_batch = Counter.BATCH in counts and (Counter.EPOCH in counts or "announced" in state)
    if Counter.GLOBAL_STEP in counts or Counter.STEP in counts or is_batch:
        _, total = inner_count(counts) or (0, 0)
        counts_training = Counter.GLOBAL_STEP in counts or 0 < total == state.get("total")
        step = step_of_counts(counts, state)
        if step is not None:
            if counts_training and step > state.get("step", step):
                end_evaluation(state)  # the training continues
            elif step != state.get("step"):
                end_parts(state)
            if step > state.get("step", step):
                state.pop("ended", None)
            state["heading"] = state["step"] = step
            note_trained_steps((step,), state)
            _begin_lines(state)  # another launch may be at the same step


def _begin_lines(state: DialectState) -> None:
    """Note that lines in the same words as before are no others of the same step; see `step_of_next`."""
    for line in state.get("evaluation lines", {}).values():
        line[0] = None


def note_bar(step: int, names: Sequence[str], state: DialectState) -> None:
    """Note the step and the names of values of a progress bar: lines of epochs are at its step."""
    state["bar"] = state["step"] = step
    note_trained_steps((step,), state)
    state.pop("heading", None)
    state.pop("ended", None)
    state.pop("begun", None)
    note_names(names, step, step, state)
