"""The steps of lines that count them, or batches, within epochs: those of earlier epochs go before."""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState

_LEAST_DISTANCES = 2
"""So many distances between the lines of an epoch, one as long as the other, are even."""

LENGTH_UNKNOWN, LENGTH_FOUND, LENGTH_KNOWN = "length unknown", "length found", "length known"
"""What is known of the length of epochs in a text that begins in a later one.

It is unknown until the next epoch; then it is found, but too late for the steps of the first one. A reader of
a complete text may begin again with it.
"""
RATES_ABOVE = "rates above"
"""What is known while no step is below the rates of an epoch; see `rates_of_epochs`."""


def steps_over_epochs(
    epochs: Sequence[tuple[int, int]], inner: Sequence[tuple[int, int]], state: DialectState
) -> list[int]:
    """`step_over_epochs` of several lines, which need no more than an addition within an epoch."""
    steps: list[int] = []
    number, last, before, stride = None, 0, 0, 0
    for epoch, count in zip(epochs, inner, strict=True):
        if epoch[0] == number and count[0]:
            stride, last = count[0] - last, count[0]
            steps.append(before + last)
            continue
        if number is not None:
            state["epoch"] = [number, last]
            if stride:
                state["stride"] = stride
        steps.append(step_over_epochs(epoch, count, state))
        number, last, stride = epoch[0], count[0], 0
        before = 0 if state.get("restarts") is False else int(state.get("before", 0))
    state["epoch"] = [number, last]
    if stride:
        state["stride"] = stride
    return steps


def step_over_epochs(epoch: tuple[int, int], inner: tuple[int, int], state: DialectState) -> int:
    """The steps of earlier epochs and those of this one; just the latter where they count on through epochs.

    Where the log begins in a later epoch, earlier ones are counted if both totals are printed, or the step is
    too small to count through all epochs. Else their length is known from the next epoch on; see
    `LENGTH_UNKNOWN`.
    """
    (number, epochs), (step, total) = epoch, inner
    state.pop(RATES_ABOVE, None)
    if epochs:
        state["epochs"] = epochs
    last_number, last_step = state.get("epoch", (number, 0))
    state["first epoch"] = min(number, state.get("first epoch", number))
    first_step = state.setdefault("first step", step)
    if "epoch" not in state and (closed := _steps_above(step, state)):
        state["before"] = closed
        state["restarts"] = True
    elif "epoch" not in state and total and (epochs or (number > 1 and step * number < total)):
        base = 1 if epochs or step else 0  # who counts batches from 0 counts epochs so
        state["before"] = max(number - base, 0) * total
        state["first epoch"] = min(number, base)
    elif state.keys().isdisjoint(("epoch", "step")) and number > 1:
        _begin_late(number, step, total, state)
    elif number > last_number:
        goes_back = _goes_back(step, last_step, state)
        restarts = state.setdefault("restarts", goes_back)
        if not restarts and goes_back:  # too few lines had been seen to decide
            state["restarts"] = True
            state["before"] = max((number - 1) * total, last_step)
        elif restarts:
            # from 0 to the total has one more
            is_from_0 = "from zero" in state
            length = total + (last_step == total and is_from_0) if total else last_step + is_from_0
            length = max(length, 0 if total else _length_by_distance(step, last_step, state))
            # another process may continue between the lines of an epoch
            is_complete = state.pop("anew", last_step) < last_step and number == last_number + 1
            if is_complete and length + abs(int(state.get("stride", 0))) < int(state.get("length", 0)):
                state["length"] = 0  # its first epoch was complete: this launch has fewer batches
            if state.get("stride") != 1:
                # lines may be rarer than the last step of an epoch: all epochs are as long
                length = max(length, int(state.get("length", 0)))
            state["length"] = max(length, int(state.get("length", 0)))
            state["before"] = int(state.get("before", 0)) + (number - last_number) * length
        _end_first(number == last_number + 1, state)
    elif number < last_number:  # the program was started again, maybe in a later epoch
        if total and state.get("before"):  # the log began in a later epoch whose steps began anew
            state.setdefault("restarts", True)
            state.setdefault("length", total)
        state["before"] = max(number - state["first epoch"], 0) * int(state.get("length", 0))
        # the last line of an epoch may come sooner behind the one before it
        if number == state["first epoch"] and step <= max(int(state.get("stride", 0)), first_step, 1):
            state["anew"] = step
    if step == 0:
        state["from zero"] = True
    if "epoch" not in state or number != last_number or step < last_step:
        state["first of epoch"] = step
    if number == last_number and step != last_step:
        state["stride"] = step - last_step
    state["epoch"] = [number, step]
    return step if state.get("restarts") is False else int(state.get("before", 0)) + step


def is_before_end(state: DialectState) -> bool:
    """Whether further lines of the last epoch are to come, by their distance and the total of its steps."""
    (_, step), stride = state.get("epoch", (0, 0)), int(state.get("stride", 0))
    return stride > 0 and int(step) + stride < int(state.get("total", 0))


def end_of_complete_epoch(number: int, state: DialectState) -> int:
    """The last step, or that at which its epoch ends, if the next line of steps would be beyond that.

    `Batch 8/18` and `Batch 16/18` above `Epoch 1, val loss: 0.5`: two batches follow that have no line.
    """
    step, (epoch, inner) = int(state["step"]), state.get("epoch", (number, 0))
    before = 0 if state.get("restarts") is False else int(state.get("before", 0))
    last, stride = int(state.get("total", 0)) - ("from zero" in state), int(state.get("stride", 0))
    is_over = epoch == number and 0 < inner < last < inner + stride and step == before + inner
    return before + last if is_over else step


def _begin_late(number: int, step: int, total: int, state: DialectState) -> None:
    """Begin in a later epoch: behind the earlier ones if their length is known, else note that it is not."""
    base = 1 if total and step else 0  # see `step_over_epochs`
    if (length := state.pop(LENGTH_KNOWN, 0)) > 0:
        state["before"] = (number - base) * length
        state["first epoch"] = base
        state["restarts"] = True
    else:
        state[LENGTH_UNKNOWN] = 0


def _end_first(continues: bool, state: DialectState) -> None:
    """Note how many steps the first epoch had, where it is a later one; 0 where steps count through all."""
    if LENGTH_UNKNOWN in state:
        length = int(state.get("length", 0)) if continues and state.get("restarts") else 0
        del state[LENGTH_UNKNOWN]
        if length:
            state[LENGTH_FOUND] = length


def _goes_back(step: int, last: int, state: DialectState) -> bool:
    """Whether the first `step` of an epoch is none behind the `last` of the one before.

    The same step again is, where it is the only one of an epoch; where others were before it, an epoch ended
    between several lines of one step: `1,99`, `1,100`, `2,100`.
    """
    return step < last or (step == last and state.get("first of epoch", last) == last)


def _length_by_distance(step: int, last: int, state: DialectState) -> int:
    """The steps of an epoch that ended after `last`, where its lines and those behind it are as far apart.

    They are so if the next epoch begins with an earlier `step` than it did: 90 behind 100, 200 ... 3600.
    """
    distance, first = int(state.get("stride", 0)), state.get("first of epoch", step)
    is_even = distance > 0 and last - first >= _LEAST_DISTANCES * distance and not (last - first) % distance
    return last + distance - step if is_even and 0 < step < distance and step != first else 0


def _steps_above(step: int, state: DialectState) -> int:
    """The steps above the first heading of an epoch, which closes it if they begin anew behind it; else 0."""
    above: dict[str, int] = state.get("laps", {})
    if state.get("names epochs", True) or "may begin" in state or not 0 <= step <= above.get("step", -1):
        return 0
    return above["before"] + (above["total"] or above["step"] + (step == 0))
