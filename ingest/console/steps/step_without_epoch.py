"""The step of lines that name no epoch, in passes through the data of which each counts anew."""

from __future__ import annotations

from typing import TypedDict

from holter.ingest.console.dialect import DialectState

_OVER = "all over"
"""That the last line of an epoch is that of the last one of all."""


class _Passes(TypedDict):
    """What is known of the passes so far, `laps` of the state."""

    before: int
    """Steps of the passes before."""
    step: int
    """Of the last line, within its pass."""
    total: int
    """Of a pass, 0 if unknown."""
    first: int
    """Step of a pass."""
    stride: int
    """Between the last two lines."""
    counts_batches: bool
    is_alone: bool
    """Whether the pass has one step so far."""


_NO_PASSES = _Passes(before=0, step=0, total=0, first=0, stride=0, counts_batches=False, is_alone=False)


def step_without_epoch(step: int, total: int, state: DialectState, *, is_batch: bool) -> int:
    """The step of a line that names no epoch.

    One that begins anew behind a line of an epoch, after its end if a total shows it, is of the next epoch.
    So is one after the end by itself unless opening lines came again, and a batch behind an evaluation: a
    launch mostly prints something before its first step. So is a step from the first one on behind batches
    of an evaluation, if nothing was trained behind an earlier one without that. Lines are as far apart as
    the last. The only step of a pass that comes again behind a line of an epoch is of the next one. Behind
    the last epoch of all another training begins.
    """
    known = _passes(state)
    state.setdefault("begins at", step)
    before, last, first, stride = known["before"], known["step"], known["first"], known["stride"]
    if not last or not total:
        first, stride = step, 0
    was_alone = known.get("is_alone", False)  # earlier versions stored less
    is_again = was_alone and "ended" in state and step == last
    is_alone = "laps" not in state or (was_alone and step == last)
    if (step < last or is_again) and state.pop(_OVER, False):
        before, is_alone = 0, True
    elif step < last or is_again:
        may_begin = "may begin" in state
        is_next = "ended" in state or (total and (is_batch or "opening" in state or not may_begin))
        is_evaluated = "evaluated since" in state and (is_batch or _follows_pass(step, state))
        is_next = (is_next or is_evaluated) and not (is_batch and may_begin)
        is_begin = step <= max(first, total // 2)  # else it is that of a slower process
        ends = is_again or last + max(1, total // 10, stride) >= total
        ends &= known["total"] == total
        if is_next and is_begin and ends:
            # from 0 to the total has one more
            before += total + (step == 0 and last == total) if total else last + (step == 0)
            is_alone = True
        elif may_begin:
            before, is_alone = 0, True  # nothing of the launch before counts
    else:
        if "evaluated since" in state and last:
            state["trains on"] = True
        if step > last and total:
            stride = step - last
    state["laps"] = _Passes(
        before=before,
        step=step,
        total=total,
        first=first,
        stride=stride,
        counts_batches=is_batch and total > 0,
        is_alone=is_alone,
    )
    return before + step


def note_epoch_over(number: int, epochs: int, state: DialectState) -> None:
    """Note that an epoch of so many is over; epochs from 0 on end with one less."""
    first = state.setdefault("first over", number)
    state[_OVER] = epochs > 0 and number + (first == 0) == epochs


def _follows_pass(step: int, state: DialectState) -> bool:
    """Whether a step is that of the next epoch, as batches of an evaluation end one.

    The program evaluates between steps if steps have gone on behind such batches.
    """
    is_behind = any(at == state.get("step") for at, *_ in state.get("passes", {}).values())
    return is_behind and step == state["begins at"] and "trains on" not in state and "may begin" not in state


def note_step_without_epoch(step: int, state: DialectState) -> None:
    """Note the last of some steps, which lines counted from the beginning of the launch on."""
    state["laps"] = _Passes(**{**_NO_PASSES, "step": step, "first": step})


def forget_passes(state: DialectState) -> None:
    """Count from the beginning: another training begins."""
    for name in ("laps", "first over", _OVER):
        state.pop(name, None)


def passes_before(state: DialectState) -> int:
    """The steps of all passes before this one."""
    return _passes(state)["before"]


def is_number_of_pass(number: int, state: DialectState) -> bool:
    """Whether a number is how often batches were counted to their end: the last one was right before it."""
    known = _passes(state)
    before, last, total = known["before"], known["step"], known["total"]
    is_behind = 0 < last == total and known["counts_batches"] and state.get("step") == before + last
    return is_behind and number == before // total + 1


def _passes(state: DialectState) -> _Passes:
    known: _Passes = state.get("laps", _NO_PASSES)
    return known if isinstance(known, dict) else _NO_PASSES  # else the state is of another version
