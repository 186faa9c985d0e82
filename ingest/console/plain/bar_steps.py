"""The steps of progress bars, stated or counted through the epochs, and the labels of their values."""

from __future__ import annotations

from collections.abc import Sequence

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.plain.bar_lines import Bar
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.steps.epochs_of_bars import are_complete, steps_begun
from holter.ingest.console.steps.launch_beginnings import forget_position
from holter.ingest.console.steps.round_steps import is_in_round
from holter.types import Labels, labels_of

_FEW = 2
"""Epochs and their batches that are too few to distinguish their bars."""
_LEAST_APART = 2
"""Batches by which the totals of a training and an evaluation differ: those of processes may by one."""
_THROUGH = -1
"""What is noted of a bar that counts through all epochs."""
_OF_A_TRAINING = (
    "from one",
    "bar",
    "bars",
    "between",
    "epochs",
    "epoch bar",
    "epoch at",
    "evaluated",
    "evaluations",
    "around",
    "evaluation ended",
    "shown",
    "drawn",
    "names within",
    "names of epochs",
    "is early",
    "passes again",
    "trains",
)
"""What the state has of the bars of one training."""


def awaits_second(state: DialectState) -> bool:
    """Whether the values of the first bar wait for the next one."""
    return "waiting" in state and state["waiting"][0] is not None


def begin_training_of_bars(state: DialectState) -> None:
    """Forget the position of the bars of a training."""
    for name in _OF_A_TRAINING:
        state.pop(name, None)


def step_of_bar(bar: Bar, state: DialectState) -> int:
    """The step of a bar of the training: what it states itself, else its count through the epochs."""
    epoch = bar.counts.get(Counter.EPOCH)
    if epoch is None:
        step, total = bar.counts.get(Counter.GLOBAL_STEP) or bar.counts.get(Counter.STEP) or (0, 0)
        # `Training (10 / 900 Steps) (loss=0.7)`
        is_of_all = step > bar.total or total not in (0, bar.total)
        return step if is_of_all else _continued(bar.at, bar.total, state)
    number, epochs = epoch
    if (over_epochs := _step_over_epochs(number, bar, state)) is not None:
        return over_epochs
    may_be_first = bar.version is None and (epochs > 0 or number == 1)  # Lightning counts from 0
    if "from one" not in state:  # a launch that resumes counts as those before it
        state["from one"] = state.get("launch from one", False) or (number > 0 and may_be_first)
    from_one: bool = state["from one"]
    state["launch from one"] = from_one
    return bar.at + (number - from_one) * bar.total


def passes_again(bar: Bar, state: DialectState) -> bool:
    """Whether a bar of an epoch is another one than that of its training, which is over.

    It has another total, or it began anew: other processes would be at the end, too. Of a training of one
    epoch it may be the next one.
    """
    number, epochs = bar.counts[Counter.EPOCH]
    last, furthest, total, before = state.get("epoch bar", (None, 0, 0, None))
    if number != last:
        state.pop("passes again", None)
    if (last, furthest, before) != (number, total, None) or epochs == 1 or bar.version is not None:
        return False
    if state.get("may begin bars", False) or axis_state(state).get("section", {}).get("next"):
        return False
    is_other = abs(bar.total - total) >= _LEAST_APART or 2 * bar.at <= bar.total == total
    if is_other:
        state["passes again"] = True
    return "passes again" in state


def _step_over_epochs(number: int, bar: Bar, state: DialectState) -> int | None:
    """The step of a bar whose count continues with the epoch, unlike that of an epoch's batches.

    It counts epochs, `Epoch 3, loss 0.5:  30%|##  | 3/10`, or steps through all of them.
    """
    last, at, total, before = state.get("epoch bar", (number, 0, bar.total, None))
    is_close = abs(bar.at - number) <= 1
    if "epoch bar" not in state and is_close and number > _FEW:
        before = 0
    if before is None and last < number and at < total == bar.total > _FEW and bar.at > 0 and at <= bar.at:
        if is_close and abs(at - last) <= 1 and bar.at <= at + number - last:
            before = 0 if awaits_second(state) else max(0, state.get("bar", 0) - number + 1)
        elif at > 0:
            before = _THROUGH
    furthest = bar.at if number != last else max(at, bar.at)
    state["epoch bar"] = [number, furthest, bar.total, before]
    if before == _THROUGH:
        return bar.at
    return None if before is None else int(before) + number


def _continued(step: int, total: int, state: DialectState) -> int:
    """The step of a bar that states no epoch: one that begins anew after its end is of the next epoch.

    The end itself is not printed of bars that vanish.
    """
    axis = axis_state(state)
    # other lines of an epoch, such as that of its results, may count it from 0 where its heading does from 1
    epoch = axis.get("headed") or axis.get("announced")
    before, last, last_total, last_epoch = state.get("bars", (0, 0, 0, epoch))
    if epoch is not None and not is_in_round(axis):
        first = state["first epoch of bars"] = min(epoch[0], state.get("first epoch of bars", epoch[0]))
        if "bars" not in state or _begins_again(epoch, last_epoch, axis):
            before, last, last_epoch = (epoch[0] - first) * total, 0, epoch
    ended = last + max(1, total // 10) >= last_total == total and last > 0
    is_next = epoch != last_epoch or (step == last and state.get("between", False))
    state["between"] = False
    if (begun := steps_begun(axis)) is not None:
        before = begun - total
    if step < last and ended and are_complete(axis):
        forget_position(axis)
        begin_training_of_bars(state)
        before = 0
    elif (step < last and ended) or (is_next and last == last_total == total):
        before += total
    state["bars"] = [before, step, total, epoch]
    return int(before) + step


def _begins_again(epoch: Sequence[int], last: Sequence[int] | None, axis: DialectState) -> bool:
    """Whether the heading above a bar is of a program that was started again, maybe in a later epoch."""
    return last is not None and (epoch[0] < last[0] or (epoch[0] == last[0] and "begun" in axis))


def labels_of_bar(state: DialectState) -> Labels | None:
    """The labels of the values of a bar: of the training that a line above names, and of the Trainer."""
    labels = section_labels(axis_state(state))
    if state.get("trainer", 1) == 1:
        return labels
    return labels_of({**dict(labels or ()), "trainer": str(state["trainer"])})
