"""Parses a line of any program that counts: what its numbers count is its step, the others are metrics."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

from holter.ingest.console.dialect import DialectState, LineValues
from holter.ingest.console.headings.line_labels import (
    is_of_other_writer,
    labels_of_line,
    note_epoch_about,
    note_training,
)
from holter.ingest.console.headings.numbered_stages import is_stage
from holter.ingest.console.headings.other_epochs import name_next_training
from holter.ingest.console.headings.training_sections import (
    enter_section,
    enter_section_at_step,
    enter_section_evaluated,
    name_stage,
    section_labels,
)
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.codes_ahead import is_code, with_code
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import best_of, metric_name, name_of_best, name_of_mean
from holter.ingest.console.line.line_bests import note_best_step
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_data import names_behind_data
from holter.ingest.console.line.line_metrics import is_named_as_time
from holter.ingest.console.line.line_shapes import LineShape, measured_values
from holter.ingest.console.line.line_tokens import split_numbers, value_of
from holter.ingest.console.line.settings_in_objects import as_read
from holter.ingest.console.search.nested_keys import forget_keys
from holter.ingest.console.steps.announced_steps import note_epoch, note_heading
from holter.ingest.console.steps.evaluated_parts import (
    end_evaluation,
    note_evaluation,
)
from holter.ingest.console.steps.evaluation_passes import names_of_pass
from holter.ingest.console.steps.evaluation_steps import (
    counts_evaluated,
    counts_own_batches,
    evaluated_batch,
    evaluation_step,
    is_passed,
)
from holter.ingest.console.steps.known_steps import (
    counts_epochs_alone,
    has_global_steps,
    has_steps,
    has_steps_alone,
    is_behind,
    is_end_of_epoch,
    number_of_epoch,
    stated_step,
)
from holter.ingest.console.steps.launch_beginnings import forget_position, note_opening
from holter.ingest.console.steps.line_counts import Counts, is_epoch_of_all
from holter.ingest.console.steps.outer_counts import note_outer_count
from holter.ingest.console.steps.own_counts import counts_itself
from holter.ingest.console.steps.parts_of_epochs import count_fraction, follows_steps
from holter.ingest.console.steps.positions import position
from holter.ingest.console.steps.rates_of_epochs import repeats_rates
from holter.ingest.console.steps.recurrence import recurring_values
from holter.ingest.console.steps.round_steps import (
    client_step,
    end_round,
    is_in_round,
    is_within_announced,
    note_named_client,
    note_round,
)
from holter.ingest.console.steps.stated_names import names_of_means, note_means, note_names
from holter.ingest.console.steps.step_axis import as_epoch, training_step
from holter.ingest.console.text.values import parse_time
from holter.ingest.step_columns import LARGEST_STEP
from holter.types import labels_of

_FRACTION = re.compile(r"\d{1,6}\.\d{1,8}")
_RUN = "run"
"""What a line may be of, whoever printed those around it."""
_TIMED = "timed"
"""How long the first step took, above its first values."""
_MEASURES = ("names", "names of epochs", "evaluated since", "recurring", "measured")
"""What is known where lines before had values."""
_PARTS_OF_PERCENT = 100
"""Steps of one per cent of an epoch."""


def axis_state(state: DialectState) -> dict[str, Any]:
    """What is known of the steps of plain lines; frameworks use the state for lines of their own."""
    axis: dict[str, Any] = state.setdefault("plain lines", {})
    if "opening" in state:
        axis["opening"] = True
    if "set up" in state:
        axis["set up"] = True
    return axis


def parse_plain_line(line: str, state: DialectState) -> LineValues | list[LineValues] | None:
    """The named numbers of a line at its step; those of an evaluation are named after its data."""
    axis = axis_state(state)
    parts = split_numbers(as_read(line))
    shape, numbers = shape_of_line(parts), parts[1::2]
    counts: Counts = counts_of(shape, numbers)
    if shape.code >= 0:
        shape = with_code(shape, numbers[shape.code], axis)
    elif "codes" in axis and counts.keys() == {Counter.STEP} and is_code(numbers[0], axis):
        return None  # `[035420] Elapsed time: 12.5`
    fraction = _fraction_of_epoch(shape, numbers, axis)
    if fraction is not None and follows_steps(axis):
        counts = {}  # it is at the last of these
    elif fraction is not None:
        counts = {Counter.STEP: (count_fraction(fraction, axis), 0)}
    if shape.is_bar and counts.keys() == {Counter.EPOCH} and has_global_steps(axis):
        return None  # it repeats what was at the end of the epoch before
    if axis.pop("best", False) or shape.is_best:
        if is_behind(counts, axis):
            return _of_best(line, shape, numbers, axis, step_of_best(counts, axis))
        is_repeated = shape.is_best and not shape.is_tagged_best
        if is_repeated and "step" not in axis:  # behind evaluations alone
            return _of_best(line, shape, numbers, axis, next((count for count, _ in counts.values()), None))
    if shape.about is not None and shape.about[0] == _RUN and counts.keys() == {Counter.EPOCH}:
        return _of_run(line, shape, numbers, counts[Counter.EPOCH][0])
    if shape.is_record and not shape.split:
        counts = as_epoch(counts, axis)
        name_stage(_stage_of(shape, numbers), [field.name for field in shape.metrics], counts, axis)
        name_next_training(counts, axis)
        if not shape.client:  # clients count the epochs of each round anew
            enter_section(counts, axis)
        note_training(shape, numbers, axis)
    elif shape.is_record:
        enter_section_evaluated(counts, axis)
    if shape.about is not None or "epoch about" in axis:
        note_epoch_about(shape, counts, axis)
    if not shape.is_record:
        if not is_stage(line, shape, axis):
            note_line(shape, counts, axis)
        return _recurring(line, shape, numbers, counts, axis) if shape.may_recur else None
    return _record(line, shape, numbers, counts, fraction, axis)


def _record(
    line: str,
    shape: LineShape,
    numbers: list[str],
    counts: Counts,
    fraction: float | None,
    axis: dict[str, Any],
) -> LineValues | None:
    """The values of a line with metrics at its step; `fraction` is its epoch, if that is all it counts."""
    announce_epoch(shape, counts, axis)
    if repeats_rates(shape, counts, numbers, axis):
        return None
    if shape.is_of_round and counts.keys() >= {Counter.OTHER, Counter.EPOCH}:
        note_round(counts[Counter.OTHER][0], axis)
    if shape.is_of_episode and Counter.EPOCH in counts:
        is_within_announced(*counts[Counter.EPOCH], axis)
    if is_in_round(axis):
        note_named_client(axis, is_named=shape.row is not None)
    names = [field.name for field in shape.metrics]
    split = shape.split or ("" if shape.is_of_training else evaluated_batch(counts, names, axis))
    if not split and shape.is_of_evaluation:  # `VAL loss: 0.02 (epoch: 2, step: 0)`
        is_own = counts_own_batches(counts, axis) or counts_itself(shape.kind, counts, names, axis)
        split = "eval" if is_own else ""
    before = axis.get("step")
    is_late = shape.may_be_late and is_passed(counts, axis)
    if is_late:
        step: int | None = counts[Counter.STEP][0]
    elif split:
        step = evaluation_step(counts, split, names, axis)
    elif shape.client and counts.keys() == {Counter.EPOCH} and not has_steps(axis):
        step = client_step(shape.client, counts[Counter.EPOCH][0], axis)
    else:
        step = training_step(counts, axis, shape.kind)
    if shape.is_round and not split and Counter.OTHER in counts:
        end_round(counts[Counter.OTHER][0], axis)
    if step is None and not counts and (fraction is not None or all(map(is_of_evaluation, names))):
        step = axis.get("step")  # `eval_loss: 0.5, epoch: 0.4`
    if step is None:
        return None
    means = () if split or not is_end_of_epoch(counts, axis, shape.kind) else names_of_means(axis)
    values = _values_of_record(shape, numbers, counts, split, means, step, axis)
    if fraction is not None and values:
        values.setdefault("epoch", fraction)
    axis["split"] = split
    if split:
        note_evaluation(split, axis)
    else:
        end_evaluation(axis)
        forget_keys(axis)
        if means:
            note_means(names, step, axis)
        else:
            of_epoch = counts.keys() == {Counter.EPOCH} and "counted" not in axis
            note_names([*values], step, step, axis, of_epoch=of_epoch)
    labels = labels_of_line(shape, numbers, axis)
    if before is not None and is_of_other_writer(shape, labels):
        axis["step"] = before  # at which what counts nothing is
    return LineValues(step, values, parse_time(line), labels, is_late=is_late)


def _values_of_record(
    shape: LineShape,
    numbers: list[str],
    counts: Counts,
    split: str,
    means: Collection[str],
    step: int,
    axis: dict[str, Any],
) -> dict[str, float]:
    """The values of a record by their names; those with a name of `means` are means of the epoch."""
    values = {}
    of_pass = names_of_pass(split, axis) if counts.keys() <= {Counter.EPOCH, Counter.OTHER} else ()
    known = axis["names"] if shape.data_ahead and axis.get("names at") == step else ()
    of_data = names_behind_data(shape, known) if known and not (split or means) else {}
    for field, value in measured_values(shape, numbers):
        is_mean = field.name in of_pass
        name = name_of_mean(field.name, split) if is_mean else metric_name(field.name, split)
        name = of_data.get(name, name)
        values[f"epoch/{name}" if name in means else name] = value
    return values


def _stage_of(shape: LineShape, numbers: list[str]) -> str:
    """The part of the training that a line is of, in words or by its number."""
    index = next((field.index for field in shape.metrics if field.name == shape.part), -1)
    return shape.stage if index < 0 else numbers[index]


def values_of(shape: LineShape, numbers: list[str]) -> dict[str, float]:
    """The metrics of a line, those of an evaluation named after its data."""
    return {metric_name(field.name, shape.split): value for field, value in measured_values(shape, numbers)}


def _fraction_of_epoch(shape: LineShape, numbers: list[str], axis: dict[str, Any]) -> float | None:
    """The epoch of a line of the training that counts nothing else, if it is a fraction: `epoch 0.25`.

    So is a whole one behind such lines.
    """
    if (
        shape.split
        or shape.is_of_evaluation
        or [field.counter for field in shape.counters] != [Counter.EPOCH]
    ):
        return None
    text = numbers[shape.counters[0].index]
    value = value_of(text) if _FRACTION.fullmatch(text) is not None else None
    return value if value is not None and (value != int(value) or "fraction" in axis) else None


def _of_run(line: str, shape: LineShape, numbers: list[str], epoch: int) -> LineValues | None:
    """The values of a line of one of several runs in turn, at its epoch: lines around are of others."""
    assert shape.about is not None, "a run"
    values = values_of(shape, numbers)
    return LineValues(epoch, values, parse_time(line), labels_of(dict([shape.about]))) if values else None


def _recurring(
    line: str, shape: LineShape, numbers: list[str], counts: Counts, axis: dict[str, Any]
) -> list[LineValues] | None:
    """The numbers with unknown names of a line with a position, if such lines recur between records."""
    step = stated_step(counts, axis)
    if step is None:
        step = position(axis)
    if step is None:
        return None
    counted = {field.index for field in shape.counters}
    values = {
        field.name: value for field, value in measured_values(shape, numbers) if field.index not in counted
    }
    time, labels = parse_time(line), section_labels(axis, values)
    if all(map(is_named_as_time, values)) and axis.keys().isdisjoint(_MEASURES):
        axis[_TIMED] = [step, values, time]  # how long something took that is measured nowhere so far
        return None
    first, earlier, at = axis.pop(_TIMED, (step, {}, time))
    if first < step and earlier.keys() == values.keys():
        recurring_values(earlier, first, axis, at, labels)  # it waits for the others
    return recurring_values(values, step, axis, time, labels)


def _of_best(
    line: str, shape: LineShape, numbers: list[str], axis: dict[str, Any], step: int | None
) -> LineValues | None:
    """The metrics of the best step so far, which a line repeats."""
    split = best_of(shape.split)
    counted = {field.index for field in shape.counters}
    values = {
        name_of_best(field.name, split): value
        for field, value in (measured_values(shape, numbers) if shape.is_record else ())
        if field.index not in counted
    }
    if not values and step is not None and shape.is_best and not shape.metrics:
        note_best_step(step, axis)
    if not values or step is None:
        return None
    is_late = step < axis.get("step", step)
    return LineValues(step, values, parse_time(line), section_labels(axis, values), is_late=is_late)


def step_of_best(counts: Counts, axis: dict[str, Any]) -> int | None:
    """The best step that a line names, as far as it is one of all; else the last one."""
    if counts.keys() == {Counter.EPOCH} and not has_steps(axis):
        return number_of_epoch(counts[Counter.EPOCH][0], axis)
    stated = stated_step(counts, axis)
    return axis.get("step") if stated is None else stated


def note_best(line: str, state: DialectState) -> None:
    """Note that the next line repeats the best step so far: `Early stopping, best iteration is:`."""
    axis_state(state)["best"] = True


def begin_launch(state: DialectState) -> None:
    """Forget the position of the launch before."""
    if "plain lines" in state:
        forget_position(state["plain lines"])


def may_begin(state: DialectState) -> None:
    """Note that another launch may have begun."""
    if "plain lines" in state:
        note_opening(state["plain lines"])


def note_line(shape: LineShape, counts: Counts, axis: dict[str, Any]) -> None:
    """Note what a line without values announces: an epoch, a step, an evaluation."""
    if not (shape.split or shape.metrics):
        note_outer_count(counts, axis)
    if shape.is_of_round and Counter.OTHER in counts:
        note_round(counts[Counter.OTHER][0], axis)
    # `Epoch 1, time: 1.2 s` behind steps without an epoch ends one, and so does `Epoch 1 finished`
    ends = counts.keys() == {Counter.EPOCH} and has_steps_alone(axis)
    if ends and shape.is_end:
        axis.setdefault("ended", counts[Counter.EPOCH][0])
    is_end = ends and (bool(shape.metrics) or shape.is_end)
    is_end |= shape.is_end and counts.keys() == {Counter.STEP} and counts_epochs_alone(axis)
    if is_end or (shape.is_note and "step" in axis):
        return
    # what is below `Finished epoch 3` is of all of the epoch, also below `Running validation for epoch 3`
    is_over = shape.is_end and not shape.split and counts.keys() == {Counter.EPOCH}
    if is_over or (shape.is_of_training and shape.is_heading):
        end_evaluation(axis)
    if shape.split:
        if counts.keys() == {Counter.EPOCH} and not has_steps(axis) and not is_behind(counts, axis):
            note_epoch(counts, axis)  # `Test Epoch 3`
        axis["evaluating"] = shape.split
        step, total = counts.get(Counter.STEP, (0, 0))
        if len(counts) == 1 and not total and step > axis.get("step", 0):
            axis["heading"] = step  # `Evaluating at step 512...`
    elif shape.is_round and Counter.OTHER in counts and ("epoch" not in axis or "rounds" in axis):
        axis["rounds"] = True
        note_epoch({Counter.EPOCH: counts[Counter.OTHER]}, axis)
    elif is_epoch_of_all(counts) or (len(shape.counters) == 1 and not shape.is_amount):
        if shape.is_heading and counts.keys() == {Counter.EPOCH}:
            enter_section(counts, axis)
        note_epoch(counts, axis)
    has_values = shape.may_recur and len(shape.counters) == 1  # of its own, next to records
    is_evaluated = bool(shape.split) and Counter.BATCH in counts  # an empty bar, whose batches are its own
    is_evaluated |= bool(shape.split) and counts_evaluated(counts, axis)  # `Eval iter: 100`
    if shape.is_heading and not is_evaluated and not (has_values and "names" in axis):
        if counts.keys() == {Counter.STEP}:
            enter_section_at_step(counts[Counter.STEP][0], axis)
        note_heading(counts, axis)


def announce_epoch(shape: LineShape, counts: Counts, axis: dict[str, Any]) -> None:
    """Note the epoch of a line that names nothing else, and no known metric: these may be below it.

    A line of rates may be behind the steps of its epoch as well.
    """
    is_first = shape.has_rates_alone and ("announced" in axis or not has_steps(axis))
    if counts.keys() == {Counter.EPOCH} and (shape.is_report or is_first):
        note_epoch(counts, axis)


def counts_of(shape: LineShape, numbers: Sequence[str]) -> dict[Counter, tuple[int, int]]:
    """The numbers that a line counts, each with its total; what is no whole number counts nothing."""
    counts: dict[Counter, tuple[int, int]] = {}
    for field in shape.counters:
        if field.is_percent:
            share = value_of(numbers[field.index])
            if share is not None and 0 <= share <= 100:
                counts[field.counter] = (round(share * _PARTS_OF_PERCENT), 100 * _PARTS_OF_PERCENT)
            continue
        value = _count(numbers[field.index], field.scale)
        total = _count(numbers[field.total_index], field.scale) if field.total_index >= 0 else 0
        if value is not None and field.counter not in counts:
            counts[field.counter] = (value, total or 0)
    return counts


def counts_of_neighbor(shape: LineShape, numbers: Sequence[str]) -> dict[Counter, tuple[int, int]]:
    """What a line counts that decides where others belong; nothing if that is too large for a step.

    It is reported where the line itself is read.
    """
    try:
        return counts_of(shape, numbers)
    except ValueError:
        return {}


def _count(text: str, scale: float) -> int | None:
    value = value_of(text)
    if value is None or (not isfinite(value) and not text[-1].isdigit()):
        return None
    value *= scale
    if abs(value) > LARGEST_STEP:
        raise ValueError(f"expected a step or an epoch, found a larger number of {len(text)} characters")
    return int(value) if value == int(value) else None
