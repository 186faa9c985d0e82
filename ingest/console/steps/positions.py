"""Where a line is that counts no step: at the heading above, at the last step, or at the epoch."""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.steps.batch_rows import end_epoch
from holter.ingest.console.steps.epochs_of_bars import end_epoch_of_bars
from holter.ingest.console.steps.known_steps import has_steps, number_of_epoch
from holter.ingest.console.steps.lines_of_epochs import MOST_LINES_OF_EPOCH, count_line
from holter.ingest.console.steps.lone_steps import note_end
from holter.ingest.console.steps.round_steps import counts_through_rounds, is_in_round

_MOST_LINES_BELOW = 2
"""Lines of one kind for each time that the epoch was stated in a heading above them."""


def announced_step(state: DialectState, kind: str = "") -> int | None:
    """The step that a heading above states, else the epoch that a line announces, in texts without steps.

    Many lines of a `kind` of the training below an epoch are counted; see `count_line`.
    """
    step = state.get("heading")
    if step is None and counts_through_rounds(state):
        return last_step(state)
    if step is None and "announced" in state and not has_steps(state, kind):
        step = state["announced"][0]
        most = min(_MOST_LINES_BELOW * int(state.get("headings", 1)), MOST_LINES_OF_EPOCH)
        if kind and (step := count_line(int(step), state, kind, most)) != state["announced"][0]:
            state["step"] = step
    return None if step is None else int(step)


def last_step(state: DialectState) -> int | None:
    """The last step of the training, at which metrics that count nothing are; see `step_of_epoch`."""
    if "step" in state and "announced" in state and not counts_through_rounds(state):
        return step_of_epoch(int(state["announced"][0]), 0, state, "")
    step = state.get("step")
    return None if step is None else int(step)


def position(state: DialectState) -> int | None:
    """Where lines are that count nothing: at the heading above, the last step, or the announced epoch."""
    if "heading" in state:
        return int(state["heading"])
    if "announced" in state and not (has_steps(state) or counts_through_rounds(state)):
        return int(state["announced"][0])
    return last_step(state)


def step_of_epoch(number: int, epochs: int, state: DialectState, kind: str) -> int:
    """The step of a line that counts nothing but its epoch, of so many.

    It is the last step, if any was printed since the line of another epoch; else the next one, or the epoch,
    if it is beyond. Lines of steps may be rarer than epochs, or end before these.
    """
    if not has_steps(state, kind):
        if epochs:
            state["epochs of lines"] = epochs
        number = number_of_epoch(number, state)
        announced, total = state.get("announced", (number, epochs))
        is_other = number > announced or number < announced - 1
        if is_other and total == epochs:  # what was above states nothing of lines below
            state["announced"] = [number, epochs]
        step = count_line(number, state, kind)
        note_end(number, step, state)
        return step
    end_epoch(number, state)
    if "bar" in state and not is_in_round(state):
        end_epoch_of_bars(number, epochs, state)
    step, ended = int(state["step"]), state.setdefault("ended", number)
    if number == ended:
        return step
    state["ended"] = number
    state["step"] = max(step + 1, number)  # several lines may be read before their steps are noted
    return int(state["step"])
