"""Blocks of results: a name and a number per line, with a known metric among them, at the last step.

`Detection Rate: 0.88` next to `Accuracy: 0.23` is a result, whatever it measures. Lines before the first
known metric, or the first that states an evaluation, wait for it. In a block with a setting that is no
rate, such as `batch_size: 64`, the unknown names are settings, too.
"""

from __future__ import annotations

import re
from typing import Any

from holter.ingest.console.dialect import DialectState, LineResult, LineValues
from holter.ingest.console.headings.class_measures import with_measure
from holter.ingest.console.headings.line_labels import row_labels
from holter.ingest.console.headings.qualified_names import with_values_again
from holter.ingest.console.headings.subjects_above import labels_below, subject_labels
from holter.ingest.console.headings.training_sections import end_section, section_labels
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.data_names import is_of_evaluation
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_fields import DURATION
from holter.ingest.console.line.line_settings import has_settings, is_of_model, is_setting
from holter.ingest.console.line.line_tokens import is_time, split_numbers, value_of
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.nested_keys import measure_above, nested_name
from holter.ingest.console.steps.evaluated_parts import data_of_parts
from holter.ingest.console.steps.late_evaluations import epoch_evaluated
from holter.ingest.console.steps.opening_values import is_in_opening
from holter.ingest.console.steps.positions import position
from holter.ingest.metric_names import is_metric_name

_DEVIATION = re.compile(r" ?(?:±|\+/?-) ?(?P<value>\d[\d.e+-]*)(?=%?\s*$)")
"""How much a result varies, behind it: `21.64 ± 3.10`."""
LARGEST_GAP = 100
"""Bytes between lines of a block: an empty line, and the heading of a part of it."""
_MOST_WAITING = 32


def parse_metric(line: str, state: DialectState) -> LineResult:
    """The metrics of a line that counts nothing, and the results above it that waited for a known one."""
    found = parse_metrics_of_epoch(line, state)
    rows = with_values_again(found, axis_state(state))
    if found is None or _result(line) is None:
        return rows
    block = _block(state)
    block["is known"] = True
    waiting, block["waiting"] = block["waiting"], {}
    if not waiting:
        return rows
    return [
        LineValues(found.step, waiting, labels=found.labels),
        *(rows if isinstance(rows, list) else [found]),
    ]


def parse_result(line: str, state: DialectState) -> LineResult:
    """The number of a line below a heading, at the heading's step, or of a line of a block of results."""
    if (row := with_measure(line, state)) != line:
        return parse_metric(row, state)
    axis = axis_state(state)
    if "heading" in axis:
        return with_values_again(parse_metrics_of_epoch(line, state), axis)
    step, result = position(axis), _result(line)
    if step is None:
        step = axis.get("evaluated at")  # nothing is trained
    if result is None and _states_setting(line):
        _block(state)["is settings"] = True
    if step is None or result is None:
        return None
    subject = subject_labels([metric_name(result[0], axis.get("evaluating", ""))], axis)
    block = _block(state)
    if block.get("is settings") and not is_metric_name(result[0]):
        return None
    evaluating = axis.get("evaluating", "")
    is_of_training = bool(evaluating) and _is_of_training_data(result[0])
    data = "" if is_of_training else evaluating or data_of_parts([result[0]], step, axis)
    if data or is_of_evaluation(result[0]):
        step = epoch_evaluated(step, axis)
    elif is_in_opening(axis):
        return None
    name = metric_name(nested_name(result[0], axis), data)
    values = {name: result[1], **_spread(name, line)}
    is_measured = is_metric_name(result[0]) and "loss" not in result[0].lower()
    is_measured |= bool(measure_above(result[0], axis))
    block["is known"] |= is_measured or _is_of_data(result[0])
    if block["is known"]:
        waiting, block["waiting"] = block["waiting"], {}
        end_section(values, axis)
        subject = {**row_labels(values, axis), **subject}
        labels = labels_below(subject, section_labels(axis, values))
        return LineValues(step, {**waiting, **values}, labels=labels)
    if len(block["waiting"]) < _MOST_WAITING:
        block["waiting"] |= values
    return None


def _spread(name: str, line: str) -> dict[str, float]:
    """How much the result of this name varies, if the line states it."""
    found = _DEVIATION.search(line)
    value = None if found is None else value_of(found["value"])
    return {} if value is None else {f"{name} (std)": value}


def _is_of_training_data(name: str) -> bool:
    """Whether a name states that it is of the data of the training: `Average train loss`."""
    found = DATA_SPLIT.search(name)
    return found is not None and bool(found[1])


def _is_of_data(name: str) -> bool:
    """Whether a name states that it is of the data of an evaluation: `Validation cost`."""
    found = DATA_SPLIT.match(name)
    return found is not None and bool(found[2])


def _block(state: DialectState) -> dict[str, Any]:
    """The block that a line belongs to: the last one if nothing else is between."""
    axis = axis_state(state)
    if not state.get("is near") or "block" not in axis:
        axis["block"] = {"is known": False, "waiting": {}}
    block: dict[str, Any] = axis["block"]
    return block


def _states_setting(line: str) -> bool:
    """Whether a line is nothing but a setting other than a rate: `batch_size: 64`."""
    shape = shape_of_line(split_numbers(line))
    names = [field.name for field in shape.metrics]
    return len(names) == 1 and has_settings(names) and not is_metric_name(names[0])


def _result(line: str) -> tuple[str, float] | None:
    """The name and the number of a line that has nothing else; None if it may be an amount or a setting."""
    parts = split_numbers(_DEVIATION.sub("", line))
    if len(parts) < 3 or not ("." in parts[-2] or parts[-1].strip() == "%"):
        return None
    if not all(map(is_time, parts[1:-2:2])):  # of a logger
        return None
    if DURATION.fullmatch(parts[-1].strip()) is not None:  # `Generation time: 5.1 sec`
        return None
    shape, value = shape_of_line(parts), value_of(parts[-2])
    if shape.counters or len(shape.metrics) != 1 or value is None:
        return None
    name = shape.metrics[0].name
    return None if is_setting(name) or is_of_model(name) else (name, value)
