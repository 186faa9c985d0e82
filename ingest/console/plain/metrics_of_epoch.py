"""Parses a line that counts nothing: its metrics are at the step or the epoch that a line above stated."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from holter.ingest.console.dialect import DialectState, LineValues
from holter.ingest.console.headings.line_labels import labels_of_line, row_labels
from holter.ingest.console.headings.opening_settings import is_opening_setting
from holter.ingest.console.headings.qualified_names import note_again, qualified
from holter.ingest.console.headings.subjects_above import labels_below, note_place, subject_labels
from holter.ingest.console.headings.training_sections import (
    end_section,
    forget_settings,
    section_labels,
)
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.confusion_counts import confusion_counts
from holter.ingest.console.line.data_names import data_of_path, is_of_evaluation
from holter.ingest.console.line.evaluation_names import best_of, metric_name, name_of_best, name_of_mean
from holter.ingest.console.line.identified_rows import identity_of_row
from holter.ingest.console.line.line_bests import best_step_above, named_best
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.line.line_data import ends_epoch
from holter.ingest.console.line.line_settings import (
    is_learning_rate,
    is_of_model,
    is_row_of_model,
    is_setting,
)
from holter.ingest.console.line.line_shapes import LineShape, MetricField
from holter.ingest.console.line.line_tokens import split_numbers, template_of, value_of
from holter.ingest.console.line.line_words import BEST, DATA_SPLIT
from holter.ingest.console.line.names_of_rows import numbered_row, row_name, tag_in_brackets, text_before
from holter.ingest.console.line.number_lists import is_history, values_of_lists
from holter.ingest.console.line.numbered_evaluations import labels_of_evaluation, numbered_evaluation
from holter.ingest.console.line.result_lines import (
    has_pairs_alone,
    is_between_metrics,
    is_final,
    is_marked_as_measured,
    is_named_as_measured,
    is_one_of_several,
    is_report,
    is_result,
    is_row_of_cells,
    is_run_of_names,
    is_starred,
    is_unknown_spread,
)
from holter.ingest.console.line.settings_in_objects import as_read
from holter.ingest.console.plain.counts_above import note_counts
from holter.ingest.console.plain.kept_lines import is_training
from holter.ingest.console.plain.plain_line import axis_state, step_of_best, values_of
from holter.ingest.console.search.nested_keys import nested_name
from holter.ingest.console.steps.batch_rows import next_batch_row, note_row_behind
from holter.ingest.console.steps.evaluated_parts import (
    data_of_parts,
    heading_of_layout,
    heading_of_line,
    note_data,
    parts_of_evaluation,
)
from holter.ingest.console.steps.evaluation_passes import is_result_of_pass, names_of_pass
from holter.ingest.console.steps.evaluation_steps import (
    step_of_next,
)
from holter.ingest.console.steps.known_steps import has_steps, has_steps_alone, may_count_lines
from holter.ingest.console.steps.late_evaluations import epoch_evaluated, note_trained
from holter.ingest.console.steps.opening_values import has_opening_values
from holter.ingest.console.steps.parts_of_epochs import count_fraction, count_pass
from holter.ingest.console.steps.positions import announced_step, last_step, step_evaluated
from holter.ingest.console.steps.stated_names import note_names
from holter.ingest.console.steps.step_axis import training_step
from holter.ingest.console.steps.steps_over_epochs import is_before_end
from holter.ingest.console.steps.timed_rows import STEPS_OF_ROWS, TIMED_ROWS
from holter.ingest.console.text.values import parse_time
from holter.ingest.metric_names import is_metric_name

_DRAWN_BAR = re.compile(r"\s{0,8}\[(?=[=#>-])[=#]{0,200}>?[ .-]{0,200}\]")
"""A bar that counts nothing: `[=====>------] 10s Loss D: 1.4`."""
_PART_AHEAD = re.compile(r"[ \t]{0,8}[01]\.\d{1,20}")
_COMPUTED_PART = re.compile(r"[ \t]{0,8}[01]\.\d{6,20}")
"""A quotient as it is: thresholds and prices have fewer digits."""
_LOSSES = re.compile(r"(?i)loss|perplexity|\bppl\b|cost")
_AMOUNT = re.compile(r"(?i)(?:^|/)n(?: \d+)?$|^num|\btotal\b|count$|(?:episode|sample|image|token)s$")
"""Names of whole numbers that state of how many the metrics of an evaluation are."""
_SPEEDS = frozenset({"fps", "sps", "speed", "throughput"})
"""Names of whole numbers that are measured, next to known metrics."""


def is_of_best(parts: list[str], shape: LineShape) -> bool:
    """Whether a line repeats metrics of the best step, as the words before its first metric state."""
    if not shape.metrics:
        return False
    first = shape.metrics[0]
    ahead = text_before(parts, first)
    if not ahead and BEST.match(parts[0]) is not None:
        return first.name not in parts[0]  # it is in other words there: `Best Iter=[3]@[9.1]`
    return BEST.search(ahead) is not None


def parse_metrics_of_epoch(line: str, state: DialectState) -> LineValues | None:
    """The metrics of a line that counts nothing: at the step or the epoch that a line above stated.

    Without a heading above them these are the means of an epoch, or those of an evaluation.
    """
    axis = axis_state(state)
    parts = split_numbers(as_read(line))
    shape, numbers = shape_of_line(parts), parts[1::2]
    if shape.counters or _is_repeated(line) or is_row_of_model(line) or is_within_epoch(line, axis):
        return None
    if _begins_with_part_of_epoch(parts, shape, axis):
        return _at_part_of_epoch(line, shape, numbers, axis)
    is_of_pass = is_starred(parts) and is_result_of_pass([field.name for field in shape.metrics], axis)
    if is_of_pass:
        shape = replace(shape, is_summary=True)
    template = template_of(parts)
    if (at_row := next_batch_row(template, axis)) is not None:
        return _at_step(at_row, line, shape, numbers, axis)
    if (at_row := TIMED_ROWS.next(template, axis)) is not None:
        return _timed_row(at_row, line, parts, shape, axis)
    evaluating = _data_of_headings(parts, shape, template, axis)
    # lines of which only the numbers differ are losses of batches, unlike rows that name what they are of
    names = [field.name for field in shape.metrics]
    subject = subject_labels((metric_name(name, evaluating) for name in names), axis)
    if is_opening_setting(template, names, axis) or _is_before_training(shape, names, evaluating, axis):
        return None
    numbered = numbered_evaluation(line)
    is_counted = not (shape.split or evaluating or subject or numbered) and shape.row is None
    step = announced_step(axis, str(template) if is_counted else "")
    if step is None and _is_of_last_step(line, parts, shape, evaluating, axis):
        if "step" not in axis:
            step = axis.get("evaluated at")
        else:
            step = step_evaluated(axis) if shape.split or evaluating else last_step(axis)
    if step is None:
        return None
    # `Evaluation result: bleu 18.3` below `Decoding on test set...`
    is_of_heading = bool(evaluating) and not evaluating.startswith("eval")
    stated = "" if is_of_heading and shape.split.startswith("eval") else shape.split
    stated = stated or (numbered.data if numbered is not None else "")
    naming = _naming(parts, shape, stated, evaluating, int(step), axis)
    identity = identity_of_row(template, step, shape, parts, axis, may_count=may_count_lines(axis))
    measured = _measured_fields(
        parts, shape, axis, is_split=bool(naming.split), skips_first=identity is not None
    )
    values = {_name_of_value(field.name, naming, axis): value * field.scale for field, value in measured}
    if not values:
        return None
    is_evaluated = all(map(is_of_evaluation, values))
    if not all(map(is_setting, values)):
        forget_settings(axis)
        if not is_evaluated and step == axis.get("announced", [None])[0]:
            note_trained(int(step), axis)
    if is_evaluated:
        step = epoch_evaluated(int(step), axis)
    end_section(values, axis)
    if not (is_evaluated or naming.split):
        note_counts([*values], axis)
    note_data(stated, names[0], axis)
    if numbered is not None:
        subject = {**subject, **labels_of_evaluation(numbered, int(step), axis)}
    if shape.row is None:
        subject = {**row_labels(values, axis), **subject}
    subject = {**subject, **(identity or {})}
    labels = labels_below(subject, labels_of_line(shape, numbers, axis))
    if shape.about is None and numbered is None:
        is_part = not (naming.split or naming.of_parts or shape.is_of_training)
        is_part &= naming.of_path is None
        if is_part and (of_data := parts_of_evaluation(values, int(step), axis)):
            note_again(of_data, step, axis)
        values = _of_path(qualified(values, parts, shape, step, axis), naming)
    is_one = shape.about is None and shape.row is None and not (naming.row or subject or numbered)
    is_one &= identity is None
    if is_one and not naming.is_best and ("heading" in axis or (naming.split and has_steps(axis))):
        step = step_of_next(template, int(step), values, axis)
    if is_one and not evaluating and _repeats_step(shape, axis):
        note_row_behind(template, int(step), axis, counts_alone=has_steps_alone(axis))
    note_place(axis)
    axis["measured"] = True
    named = step_of_best(named_best(line), axis) if naming.is_best else None
    if named is None:
        named = best_step_above(values, axis)
    if named is not None and named < step:
        return LineValues(named, values, parse_time(line), labels, is_late=True)
    # the result of a pass replaces the values of the only line of it
    return LineValues(int(step), values, parse_time(line), labels, is_provisional=is_of_pass)


def _is_before_training(shape: LineShape, names: list[str], evaluating: str, axis: dict[str, Any]) -> bool:
    """Whether values are in the opening of a launch; learning rates there are those of the first step."""
    return has_opening_values(shape, evaluating, axis) and not all(map(is_learning_rate, names))


def _repeats_step(shape: LineShape, axis: dict[str, Any]) -> bool:
    """Whether a line has a loss of the training, and no other names than the last one that counted steps."""
    names = {field.name for field in shape.metrics}
    return is_training(shape) and names <= {*axis.get("names", ())}


def _begins_with_part_of_epoch(parts: list[str], shape: LineShape, axis: dict[str, Any]) -> bool:
    """Whether a number before the first metric is a part of the epoch: `0.104 perplexity: 596.9`."""
    is_ahead = bool(shape.metrics) and shape.metrics[0].index > 0
    is_part = is_ahead and _PART_AHEAD.fullmatch("".join(parts[:2])) is not None
    return is_part and ("announced" in axis or _is_before_epoch(parts, shape, axis))


def _data_of_headings(parts: list[str], shape: LineShape, template: int, axis: dict[str, Any]) -> str:
    """The data of the heading above a line, or above all lines of its layout; "" without any."""
    ahead = text_before(parts, shape.metrics[0]) if shape.metrics else ""
    evaluating = heading_of_line(ahead, axis)
    if shape.split or shape.is_of_training:
        return evaluating
    layout = shape.kind if len(shape.metrics) > 1 else str(template)
    return heading_of_layout(layout, evaluating, axis)


def _is_of_last_step(
    line: str, parts: list[str], shape: LineShape, evaluating: str, axis: dict[str, Any]
) -> bool:
    """Whether a line without an announced step has results, at the last step or the evaluation above."""
    names = [field.name for field in shape.metrics]
    belongs = (
        *("announced" in axis, "epoch" in axis, evaluating, shape.is_summary, "evaluated at" in axis),
        *(is_report(shape), is_result(parts, shape, axis), has_pairs_alone(parts)),
        *(is_row_of_cells(parts, shape), bool(numbered_row(parts, shape)), ends_epoch(line, names)),
        is_run_of_names(parts) and any(is_metric_name(name) and not is_setting(name) for name in names),
        # `Task 1 accuracy: 0.5` behind the last epoch
        shape.row is not None and "step" in axis and any(map(is_metric_name, names)),
        # `Train: 0.5` is a loss as `Val: 0.6` is
        "step" in axis and bool(names) and all(map(DATA_SPLIT.fullmatch, names)),
    )
    return any(belongs) or bool(named_best(line))


class _Naming(NamedTuple):
    """What the values of a line are named after.

    `split` is the data of an evaluation, `of_parts` that of its parts above, `evaluating` that of the heading
    above; `means` are the names of which the values are means of an epoch, `row` is the name of the row;
    `is_final`: they are results of the end of the training. `of_path` is the data that a path names.
    """

    split: str
    of_parts: str
    evaluating: str
    means: Collection[str]
    row: str
    is_best: bool
    is_final: bool = False
    of_path: str | None = None


def _naming(
    parts: list[str], shape: LineShape, stated: str, evaluating: str, step: int, axis: dict[str, Any]
) -> _Naming:
    """What the values of a line at a step are named after; `stated` is the data that it names itself."""
    split = stated or evaluating or (axis.get("split", "") if shape.is_summary else "")
    of_path = data_of_path(text_before(parts, shape.metrics[0])) if shape.metrics else None
    is_part = not (split or shape.is_of_training) and of_path is None
    of_parts = data_of_parts([field.name for field in shape.metrics], step, axis) if is_part else ""
    has_own_names = split or of_parts or "heading" in axis or shape.row is not None
    # within an epoch another line with the names of its steps has no means of it
    tag = "" if has_own_names or not is_before_end(axis) else tag_in_brackets(parts, shape)
    if tag and {field.name for field in shape.metrics} <= {*axis.get("names", ())}:
        return _Naming("", "", evaluating, (), f"{tag}/", is_best=False)
    return _Naming(
        split=split,
        of_parts=of_parts,
        evaluating=evaluating,
        means=() if has_own_names else axis.get("names", ()),
        row="" if shape.about is not None else row_name(parts, shape),
        is_best=is_of_best(parts, shape),
        is_final=is_final(parts, shape),
        of_path=of_path,
    )


def _measured_fields(
    parts: list[str], shape: LineShape, axis: dict[str, Any], *, is_split: bool, skips_first: bool
) -> Iterator[tuple[MetricField, float]]:
    """The numbers of a line that measure anything, without their scale; the first may distinguish rows.

    `is_split`: the line is of an evaluation, in which also unknown names are of metrics.
    """
    numbers, fields = parts[1::2], shape.metrics
    is_run = is_row_of_cells(parts, shape) or is_run_of_names(parts)
    # below the heading of a block, a line with nothing but a name and a number has whatever is measured
    is_in_block = "heading" in axis and len(fields) == 1 and len(numbers) == 1
    measures = is_split or "heading" in axis or any(map(is_named_as_measured, fields))
    lists = values_of_lists(tuple(parts[::2]))
    counted = confusion_counts([field.name for field in fields])
    # `Evaluating: score: -57.1, time: 1.5, length: 540`
    is_several = is_split and sum(is_marked_as_measured(parts, field.index) for field in fields) > 1
    for at, field in enumerate(fields):
        value = value_of(numbers[field.index])
        if value is None or is_one_of_several(parts, field.index) or is_unknown_spread(parts, field.index):
            continue
        if is_of_model(field.name) or (skips_first and not at):
            continue
        is_known = is_in_block or is_metric_name(field.name) or field.name in counted
        is_measured = is_marked_as_measured(parts, lists.get(field.index, field.index))
        is_measured |= is_run and "." in numbers[field.index]
        is_marked = parts[2 * field.index].rstrip(" ")[-1:] in (":", "=")
        is_measured |= is_several and is_marked and _AMOUNT.search(field.name) is None
        is_measured |= is_marked and field.name.lower() in _SPEEDS
        if is_known or is_between_metrics(parts, shape, at) or (measures and is_measured):
            yield field, value


def _name_of_value(stated: str, naming: _Naming, axis: dict[str, Any]) -> str:
    """The name of a value that has this one in its line."""
    data = "" if naming.evaluating and "train" in stated.lower() else naming.split or naming.of_parts
    if naming.is_best and "best" not in stated.lower():
        data = best_of(data)
    row = naming.row
    name = nested_name(row + stated.removeprefix(f"{row[:-1]} "), axis)
    if naming.is_best:
        name = name_of_best(name, data)
    elif naming.is_final and metric_name(name, data) in axis.get("names", ()):
        return f"final/{metric_name(name, data)}"  # the step has a value of this name itself
    else:
        is_mean = name in names_of_pass(data, axis)
        name = name_of_mean(name, data) if is_mean else metric_name(name, data)
    return f"epoch/{name}" if name.removesuffix("/mean") in naming.means else name


def _of_path(values: dict[str, float], naming: _Naming) -> dict[str, float]:
    """The values of one of several, with the data that its path names: `/data/test_data/T1/ 'acc': 0.5`."""
    if not naming.of_path or naming.split:
        return values
    rows = ((*name.rpartition("/")[::2], value) for name, value in values.items())
    return {f"{row}/{metric_name(of, naming.of_path)}" if row else of: value for row, of, value in rows}


def _at_part_of_epoch(
    line: str, shape: LineShape, numbers: list[str], axis: dict[str, Any]
) -> LineValues | None:
    """The metrics of a line that begins with a part of the announced epoch: `0.104 perplexity: 596.9`.

    Where the line of each epoch is below its parts, they count the epochs as they begin anew.
    """
    part = float(numbers[0])
    epoch = axis["announced"][0] if "announced" in axis else count_pass(part, axis)
    return _at_step(count_fraction(int(epoch) + part, axis), line, shape, numbers, axis)


def _is_before_epoch(parts: list[str], shape: LineShape, axis: dict[str, Any]) -> bool:
    """Whether a line begins with a part of an epoch that no line above has announced, with a loss."""
    is_of_loss = any(
        is_metric_name(field.name) and _LOSSES.search(field.name) is not None for field in shape.metrics
    )
    if not is_of_loss or _COMPUTED_PART.fullmatch("".join(parts[:2])) is None:
        return False
    return "parts of epochs" in axis or "step" not in axis


def _at_step(
    number: int, line: str, shape: LineShape, numbers: list[str], axis: dict[str, Any]
) -> LineValues | None:
    """The metrics of a line of the training that does not state its step."""
    step = training_step({Counter.STEP: (number, 0)}, axis, shape.kind)
    values = values_of(shape, numbers)
    if step is None or not values:
        return None
    note_names([*values], step, step, axis)
    return LineValues(step, values, parse_time(line), section_labels(axis, values))


def _timed_row(
    number: int, line: str, parts: list[str], shape: LineShape, axis: dict[str, Any]
) -> LineValues | None:
    """The metrics of a numbered line of a process that states no step, whatever others have stated above."""
    measured = _measured_fields(parts, shape, axis, is_split=bool(shape.split), skips_first=False)
    values = {metric_name(field.name, shape.split): value * field.scale for field, value in measured}
    return LineValues(number, values, parse_time(line), STEPS_OF_ROWS, is_late=True) if values else None


def _is_repeated(line: str) -> bool:
    """Whether a line prints values once more: the client of wandb the last ones, or all of a history."""
    return line.startswith("wandb: ") or is_history(line)


def is_within_epoch(line: str, axis: dict[str, Any]) -> bool:
    """Whether a line is a bar that counts nothing in an epoch that the line below states, with its means."""
    return _DRAWN_BAR.match(line) is not None and axis.keys().isdisjoint(("announced", "heading"))
