"""The step of a line from what it counts: a global step, steps or batches within epochs, or epochs.

Whether the steps of a log start over with each epoch, and how many there are in one, is learnt from the lines
as they come: at the first change of the epoch it is seen. What was learnt is part of the state of a reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.epochs_of_bars import end_epoch_of_bars
from holter.ingest.console.steps.evaluated_parts import end_evaluation, end_parts, is_heading_of_evaluation
from holter.ingest.console.steps.lines_of_epochs import MOST_LINES_OF_EPOCH, count_line, note_uncounted
from holter.ingest.console.steps.lone_steps import (
    end_at_step,
    is_undecided,
    note_end,
    step_within_epoch,
)
from holter.ingest.console.steps.other_units import forget_unit, is_of_other_unit
from holter.ingest.console.steps.outer_counts import forget_outer_count, note_epoch_within
from holter.ingest.console.steps.round_steps import (
    counts_through_rounds,
    forget_outer_step,
    forget_round,
    has_outer_step,
    is_in_round,
    is_within_announced,
    is_within_outer_step,
    note_counted_round,
    note_inner_epoch,
    note_outer_step,
    step_through_rounds,
)
from holter.ingest.console.steps.stated_names import note_names
from holter.ingest.console.steps.step_without_epoch import (
    forget_passes,
    is_number_of_pass,
    note_epoch_over,
    note_step_without_epoch,
    passes_before,
    step_without_epoch,
)
from holter.ingest.console.steps.steps_over_epochs import step_over_epochs, steps_over_epochs
from holter.ingest.console.steps.timed_rows import begin_timed_rows
from holter.ingest.console.steps.unnumbered_epochs import UNNUMBERED, end_unnumbered
from holter.ingest.console.steps.unnumbered_rows import end_epoch, forget_rows, note_step

_AXES = (Counter.GLOBAL_STEP, Counter.STEP, Counter.BATCH, Counter.EPOCH, Counter.OTHER)
"""What the step of a line is taken from, the most reliable first."""
EVALUATES_ALONE = "evaluates alone"
"""The data that a launch evaluates, of which a command states that it trains nothing."""
_NO_STEPS = {Counter.EPOCH, Counter.OTHER}
_MOST_LINES_BELOW = 2
"""Lines of one kind for each time that the epoch was stated in a heading above them."""

Counts = Mapping[Counter, tuple[int, int]]
"""The numbers that a line counts, each with its total, 0 without one."""


def inner_count(counts: Counts) -> tuple[int, int] | None:
    """What a line counts within an epoch, with its total: steps or batches."""
    return counts.get(Counter.STEP) or counts.get(Counter.BATCH)


def known_axis(state: DialectState) -> dict[str, Any]:
    """What is known of the steps of a text so far; nothing where no plain line has counted any."""
    axis: dict[str, Any] = state.get("plain lines", {})
    return axis


def last_epochs(state: DialectState) -> list[int]:
    """The epochs that the last lines counted and announced, as far as they did."""
    axis = known_axis(state)
    return [int(axis[name][0]) for name in ("epoch", "announced") if name in axis]


def forget_position(state: DialectState) -> None:
    """Forget what lines above announced: another launch of the program begins."""
    for name in (
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
        "epochs of bars",
        "bars begun",
        "names epochs",
        "may end",
        "ends at",
        "lone step",
        "has values",
        EVALUATES_ALONE,
        UNNUMBERED,
    ):
        state.pop(name, None)
    for name in {"opening settings", "opening names"} & state.keys():
        state[name] = dict.fromkeys(state[name])
    note_left(state)
    forget_unit(state)
    forget_passes(state)
    forget_round(state)
    forget_outer_count(state)
    forget_rows(state)
    begin_timed_rows(state)
    if (section := state.get("section")) is not None:
        named = {**section["first"], **section.get("next", {})}
        state["section"] = {"first": named, "now": named, "next": named}


def as_epoch(counts: Counts, state: DialectState) -> Counts:
    """The counts of a line, where what looks like a step is an epoch.

    `[2] loss: 131.7` behind a bar of 60,000 samples is of the second epoch, as is `[2/5] loss: 131.7` in the
    second of five epochs, and `step 2 loss: 0.5` behind the second `batch 4/4 loss: 0.6`.
    """
    number, total = counts.get(Counter.STEP, (0, 0))
    if counts.keys() <= {Counter.STEP, Counter.OTHER} and not total and is_number_of_pass(number, state):
        return {Counter.EPOCH: (number, total)}
    if len(counts) != 1:
        return counts
    [(counter, (number, total))] = counts.items()
    if counter is Counter.OTHER:  # `Episode 10/40` below `Epoch 1/25`
        is_epoch = not has_steps(state) and is_within_announced(number, total, state)
    elif counter is Counter.STEP and "bar" in state:
        is_epoch = number < state["bar"]
    else:
        is_epoch = counter in (Counter.STEP, Counter.BATCH) and total > 0 and _is_epoch(number, total, state)
    return {Counter.EPOCH: (number, total)} if is_epoch else counts


def _is_epoch(number: int, total: int, state: DialectState) -> bool:
    """Whether a number is that of the epoch, and its total is that of the epochs and not of the steps."""
    if "epoch of steps" in state:
        return [*state["epoch of steps"]] == [number, total]
    is_current = "epoch" in state and number == state["epoch"][0]
    return is_current and total == state.get("epochs") != state.get("total")


def training_step(counts: Counts, state: DialectState, kind: str = "") -> int | None:
    """The step of a line of the training; None if it counts nothing. `kind` is that of its metrics."""
    note_inner_count(counts, state)
    if Counter.EPOCH in counts:
        end_unnumbered(state)
        note_epoch_within(counts[Counter.EPOCH][0], state)
    is_counted = Counter.EPOCH in counts and not is_end_of_epoch(counts, state, kind)
    step = _step(counts, state, kind)
    if step is not None and is_counted and is_in_round(state) and Counter.GLOBAL_STEP not in counts:
        step = step_through_rounds(step, state)
    if step is not None:
        state["step"] = step
        state.pop("heading", None)
        if counts.keys() - _NO_STEPS:
            _note_begun(state)
    return step


def _note_begun(state: DialectState) -> None:
    """Note that an epoch, or a launch, continues with steps of its own."""
    for name in ("ended", "begun", "may begin", "evaluated since"):
        state.pop(name, None)


def note_inner_count(counts: Counts, state: DialectState) -> None:
    """Note an epoch below an announced step; what counts steps itself is in no other."""
    if not has_outer_step(state):
        return
    if counts.keys() == {Counter.EPOCH}:
        note_inner_epoch(counts[Counter.EPOCH][0], state)
    elif counts.keys() - _NO_STEPS and not is_within_outer_step(state):
        forget_outer_step(state)


def training_steps(
    columns: Mapping[Counter, Sequence[tuple[int, int]]], state: DialectState, kind: str = ""
) -> list[int]:
    """The steps of several lines of the training that count the same; `columns` has the counts of each."""
    first = {counter: counts[0] for counter, counts in columns.items()}
    is_line_by_line = (is_in_round(state) and Counter.EPOCH in columns) or (has_outer_step(state) and columns)
    if is_line_by_line or is_of_other_unit(first, state) or _may_be_lone(first, state):
        rows = (dict(zip(columns, counts, strict=True)) for counts in zip(*columns.values(), strict=True))
        return [step for counts in rows if (step := training_step(counts, state, kind)) is not None]
    epochs, inner = columns.get(Counter.EPOCH), columns.get(Counter.STEP) or columns.get(Counter.BATCH)
    if inner is not None:
        state["names epochs"] = epochs is not None
    if epochs is None and inner is not None and "announced" in state:
        announced = state["announced"]
        epochs = [(int(announced[0]), int(announced[1]))] * len(inner)
    if Counter.EPOCH in columns:
        state.pop("rounds", None)
        end_unnumbered(state)
        for number, _ in (columns[Counter.EPOCH][0], columns[Counter.EPOCH][-1]):
            note_epoch_within(number, state)
    if inner is not None and inner[-1][1]:
        state["total"] = inner[-1][1]
    axis = next((axis for axis in _AXES if axis in columns), None)
    if axis is Counter.GLOBAL_STEP:
        note_global_steps(state, epochs[-1] if epochs else None)
    if epochs is not None and inner is not None and axis is not Counter.GLOBAL_STEP:
        steps = steps_over_epochs(epochs, inner, state)
    elif axis is Counter.EPOCH:
        steps = [_step_of_epoch(*epoch, state, kind) for epoch in columns[axis]]
    else:
        counts = () if axis is None else columns[axis]
        if axis in (Counter.STEP, Counter.BATCH):
            is_batch = axis is Counter.BATCH
            steps = [step_without_epoch(*count, state, is_batch=is_batch) for count in counts[:1]]
            for name in ("ended", "evaluated since"):  # what follows within these lines begins no epoch
                state.pop(name, None)
            steps += [step_without_epoch(*count, state, is_batch=is_batch) for count in counts[1:]]
        else:
            if axis is Counter.OTHER:
                note_uncounted(state)
                note_counted_round(counts[-1][0], state)
            steps = [step for step, _ in counts]
        if axis is not None and axis < Counter.EPOCH and epochs is None:
            note_steps_alone(len(steps), state)
    if steps:
        state["step"] = steps[-1]
        state.pop("heading", None)
        if columns.keys() - _NO_STEPS:
            _note_begun(state)
    return steps


def is_epoch_of_all(counts: Counts) -> bool:
    """Whether an epoch is stated twice, of a launch and of all: `Epoch 1 (1/200):`."""
    if counts.keys() != {Counter.EPOCH, Counter.BATCH}:
        return False
    return counts[Counter.BATCH][1] > 0 and counts[Counter.BATCH][0] - counts[Counter.EPOCH][0] in (0, 1)


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
        has_steps_above = state.get("epoch", [None])[0] == number
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
        step = _step(counts, state)
        if step is not None:
            if counts_training and step > state.get("step", step):
                end_evaluation(state)  # the training continues
            elif step != state.get("step"):
                end_parts(state)
            if step > state.get("step", step):
                state.pop("ended", None)
            state["heading"] = state["step"] = step
            _begin_lines(state)  # another launch may be at the same step


def _begin_lines(state: DialectState) -> None:
    """Note that lines in the same words as before are no others of the same step; see `step_of_next`."""
    for line in state.get("evaluation lines", {}).values():
        line[0] = None


def is_end_of_epoch(counts: Counts, state: DialectState, kind: str = "") -> bool:
    """Whether a line counts nothing but the epoch whose batches or steps were printed before."""
    return not counts.keys() - {Counter.EPOCH} and has_steps(state, kind)


def _may_be_lone(counts: Counts, state: DialectState) -> bool:
    """Whether a line that counts steps and no epoch may be one within epochs that were counted so far."""
    if not counts.keys().isdisjoint((Counter.EPOCH, Counter.GLOBAL_STEP)):
        return False
    return is_undecided(state) or ("lines" in state and not has_steps(state))


def counts_on(state: DialectState) -> bool:
    """Whether lines that count steps and no epoch are at these: no line above states more."""
    if not state.keys().isdisjoint(("announced", "bar", "ended", "evaluated since", EVALUATES_ALONE)):
        return False
    return not (passes_before(state) or _may_be_lone({}, state))


def note_last_step(step: int, state: DialectState) -> None:
    """Note the last of some steps that lines counted without an epoch."""
    state["step"] = step
    note_step_without_epoch(step, state)
    state.pop("heading", None)
    state.pop("begun", None)


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


def stated_step(counts: Counts, state: DialectState) -> int | None:
    """The step that a line counts, where it is one of all: no line so far named an epoch, or these go on."""
    if Counter.GLOBAL_STEP in counts:
        return counts[Counter.GLOBAL_STEP][0]
    is_of_all = "alone" in state and state.keys().isdisjoint(("announced", "epoch", "ended", "bar"))
    is_of_all |= state.get("restarts") is False
    return counts[Counter.STEP][0] if counts.keys() == {Counter.STEP} and is_of_all else None


def note_global_steps(state: DialectState, epoch: tuple[int, int] | None = None) -> None:
    """Note that a line has stated the step of all, and maybe its epoch with their total."""
    state["global"] = True
    if epoch is not None and epoch[1]:
        state["epoch of steps"] = [*epoch]


def has_global_steps(state: DialectState) -> bool:
    """Whether a line has stated the step of all."""
    return "global" in state


def note_steps_alone(lines: int, state: DialectState) -> None:
    """Note lines that count steps and no epoch; one such line at the beginning shows nothing yet."""
    if lines and state.get("alone") is not True:
        state["alone"] = lines > 1 or "alone" in state


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


def is_before_training(state: DialectState) -> bool:
    """Whether nothing was trained yet in a launch that began, or may have."""
    if not is_at_left_step(state):
        state.pop("left", None)
    return "left" in state


def is_at_left_step(state: DialectState) -> bool:
    """The same of a record, before which a text may be read in columns: nothing is noted."""
    return "left" in state and state["left"] == state.get("step")


def begins_with_epoch(state: DialectState) -> bool:
    """Whether an epoch is announced in a launch of which no value was read yet."""
    is_announced = "announced" in state and state.keys().isdisjoint(("heading", "has values"))
    return is_announced and ("step" not in state or is_at_left_step(state))


def note_values(state: DialectState) -> None:
    """Note that values were read below the epoch that is announced."""
    if begins_with_epoch(state):
        state["has values"] = True


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
    """The last step of the training, at which metrics that count nothing are; see `_step_of_epoch`."""
    if "step" in state and "announced" in state and not counts_through_rounds(state):
        return _step_of_epoch(int(state["announced"][0]), 0, state, "")
    step = state.get("step")
    return None if step is None else int(step)


def position(state: DialectState) -> int | None:
    """Where lines are that count nothing: at the heading above, the last step, or the announced epoch."""
    if "heading" in state:
        return int(state["heading"])
    if "announced" in state and not (has_steps(state) or counts_through_rounds(state)):
        return int(state["announced"][0])
    return last_step(state)


def note_bar(step: int, names: Sequence[str], state: DialectState) -> None:
    """Note the step and the names of values of a progress bar: lines of epochs are at its step."""
    state["bar"] = state["step"] = step
    state.pop("heading", None)
    state.pop("ended", None)
    state.pop("begun", None)
    note_names(names, step, step, state)


def _step(counts: Counts, state: DialectState, kind: str = "") -> int | None:
    if Counter.EPOCH in counts:
        state.pop("rounds", None)  # rounds of several epochs are no epochs
    if Counter.GLOBAL_STEP in counts:
        note_global_steps(state, counts.get(Counter.EPOCH))
        if Counter.EPOCH not in counts:
            note_steps_alone(1, state)
        return counts[Counter.GLOBAL_STEP][0]
    if is_of_other_unit(counts, state):
        return last_step(state)
    inner = inner_count(counts)
    if inner is not None:
        state["names epochs"] = Counter.EPOCH in counts
    epoch = counts.get(Counter.EPOCH) or state.get("announced")
    if inner is not None and _may_be_lone(counts, state):
        if not is_undecided(state) and (step := step_within_epoch(inner[0], state)) is not None:
            return step
        end_at_step(state)
    if inner is not None and inner[1]:
        state["total"] = inner[1]
    if inner is not None and epoch is not None:
        return step_over_epochs((int(epoch[0]), int(epoch[1])), inner, state)
    if inner is not None:
        note_steps_alone(1, state)
        note_step(inner[0], state)
        return step_without_epoch(*inner, state, is_batch=Counter.STEP not in counts)
    if Counter.EPOCH in counts:
        return _step_of_epoch(*counts[Counter.EPOCH], state, kind)
    if Counter.OTHER in counts:
        note_uncounted(state)
        # `episodes 57` below `iter 10` counts what was done until there
        note_counted_round(counts[Counter.OTHER][0], state)
        is_within = state.get("alone") is True or counts_through_rounds(state)
        return int(state["step"]) if is_within else counts[Counter.OTHER][0]
    return None


def _step_of_epoch(number: int, epochs: int, state: DialectState, kind: str) -> int:
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
    note_epoch_over(number, epochs, state)
    if "bar" in state and not is_in_round(state):
        end_epoch_of_bars(number, epochs, state)
    step, ended = int(state["step"]), state.setdefault("ended", number)
    if number == ended:
        return step
    state["ended"] = number
    state["step"] = max(step + 1, number)  # several lines may be read before their steps are noted
    return int(state["step"])


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
