"""The step of a line from what it counts: a global step, steps or batches within epochs, or epochs.

Whether the steps of a log start over with each epoch, and how many there are in one, is learnt from the lines
as they come: at the first change of the epoch it is seen. What was learnt is part of the state of a reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holter.ingest.console.dialect import DialectState
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.batch_rows import note_step
from holter.ingest.console.steps.epochs_of_headings import end_unnumbered
from holter.ingest.console.steps.known_steps import (
    has_steps,
    is_end_of_epoch,
    may_be_lone,
    note_global_steps,
    note_steps_alone,
)
from holter.ingest.console.steps.launch_beginnings import note_trained_steps
from holter.ingest.console.steps.line_counts import NO_STEPS, Counts, inner_count
from holter.ingest.console.steps.lines_of_epochs import note_uncounted
from holter.ingest.console.steps.lone_steps import end_at_step, is_undecided, step_within_epoch
from holter.ingest.console.steps.other_units import is_of_other_unit
from holter.ingest.console.steps.outer_counts import note_epoch_within
from holter.ingest.console.steps.positions import last_step, step_of_epoch
from holter.ingest.console.steps.round_steps import (
    counts_through_rounds,
    forget_outer_step,
    has_outer_step,
    is_in_round,
    is_within_announced,
    is_within_outer_step,
    note_counted_round,
    note_inner_epoch,
    step_through_rounds,
)
from holter.ingest.console.steps.step_without_epoch import (
    is_number_of_pass,
    note_step_without_epoch,
    step_without_epoch,
)
from holter.ingest.console.steps.steps_over_epochs import step_over_epochs, steps_over_epochs

_AXES = (Counter.GLOBAL_STEP, Counter.STEP, Counter.BATCH, Counter.EPOCH, Counter.OTHER)
"""What the step of a line is taken from, the most reliable first."""


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
    step = step_of_counts(counts, state, kind)
    if step is not None and is_counted and is_in_round(state) and Counter.GLOBAL_STEP not in counts:
        step = step_through_rounds(step, state)
    if step is not None:
        state["step"] = step
        note_trained_steps((step,), state)
        state.pop("heading", None)
        if counts.keys() - NO_STEPS:
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
    elif counts.keys() - NO_STEPS and not is_within_outer_step(state):
        forget_outer_step(state)


def training_steps(
    columns: Mapping[Counter, Sequence[tuple[int, int]]], state: DialectState, kind: str = ""
) -> list[int]:
    """The steps of several lines of the training that count the same; `columns` has the counts of each."""
    first = {counter: counts[0] for counter, counts in columns.items()}
    is_line_by_line = (is_in_round(state) and Counter.EPOCH in columns) or (has_outer_step(state) and columns)
    if is_line_by_line or is_of_other_unit(first, state) or may_be_lone(first, state):
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
        steps = [step_of_epoch(*epoch, state, kind) for epoch in columns[axis]]
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
        note_trained_steps(steps, state)
        state.pop("heading", None)
        if columns.keys() - NO_STEPS:
            _note_begun(state)
    return steps


def note_last_step(step: int, state: DialectState) -> None:
    """Note the last of some steps that lines counted without an epoch."""
    state["step"] = step
    note_step_without_epoch(step, state)
    state.pop("heading", None)
    state.pop("begun", None)


def step_of_counts(counts: Counts, state: DialectState, kind: str = "") -> int | None:
    """The step of a line of the training, or of a heading, from its counts; None if it counts nothing."""
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
    if inner is not None and may_be_lone(counts, state):
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
        return step_of_epoch(*counts[Counter.EPOCH], state, kind)
    if Counter.OTHER in counts:
        note_uncounted(state)
        # `episodes 57` below `iter 10` counts what was done until there
        note_counted_round(counts[Counter.OTHER][0], state)
        is_within = state.get("alone") is True or counts_through_rounds(state)
        return int(state["step"]) if is_within else counts[Counter.OTHER][0]
    return None
