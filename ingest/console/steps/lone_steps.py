"""Lines of steps that name no epoch, at most one between two lines of epochs: `Iter 100: loss 0.5`.

A program prints them every so many batches, of which an epoch may have as few. Above the line of each epoch
they are within it, and the next one may count the same again. Where epochs were counted before, a step alone
is within the last one: it is rarer than these, and counts something else.

Below a single line of a step, the first line of an epoch may be either. It is known by the next line that
counts: the epoch ended at the step if another step follows, and epochs are counted if another epoch does.
"""

from __future__ import annotations

from holter.ingest.console.dialect import DialectState

_PENDING = "may end"
"""The epoch of a line below a single line of a step, its step as an epoch, and those of the line above."""
_MOVED = "ends at"
"""The step as an epoch of such a line, the step at which it is, and the names of the values there."""
_LONE = "lone step"
"""The last step that was within an epoch, and that epoch."""


def note_end(number: int, step: int, state: DialectState) -> None:
    """Note the line of an epoch, which is at a step as an epoch, in a text whose steps are unknown so far."""
    if _PENDING in state:
        if state[_PENDING][0] != number:
            del state[_PENDING]
            state.pop("alone", None)  # what was above all epochs is no step of them
    elif state.get("alone") is False and "step" in state and "announced" not in state:
        state[_PENDING] = [number, step, int(state["step"]), state.get("names", [])]


def is_undecided(state: DialectState) -> bool:
    """Whether the step of the last line of an epoch is unknown."""
    return _PENDING in state


def end_at_step(state: DialectState) -> None:
    """Note that a step follows: the epoch above it, if its step was unknown, ended at the step before."""
    if (pending := state.pop(_PENDING, None)) is not None:
        number, step, at, names = pending
        state[_MOVED] = [step, at, names]
        state["step"], state["ended"] = at, number


def moved_lines(state: DialectState) -> tuple[int, int, list[str]] | None:
    """The step of the lines of an epoch that waited, that at which they are, and the names of values there.

    None if they are where they were.
    """
    moved: tuple[int, int, list[str]] | None = state.pop(_MOVED, None)
    return moved


def step_within_epoch(number: int, state: DialectState) -> int | None:
    """The step of an epoch, if a line that counts this number of steps is the only one of it.

    None where no two epochs were printed before it, or where it is the second one in the same epoch.
    """
    if state.get("uncounted", 0) < 1 or state.keys().isdisjoint(("announced", "step")):
        return None
    epoch = int(state["announced"][0] if "announced" in state else state["lines"][1])
    last = state.get(_LONE, (number, None))
    if last[1] == epoch and last[0] != number:
        return None
    state[_LONE] = [number, epoch]
    return epoch if "announced" in state else int(state["step"])
