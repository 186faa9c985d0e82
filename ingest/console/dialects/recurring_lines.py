"""Lines that come again and again between the records of a training, with names that are no known metrics.

`Current lambda_a: 0.02, lambda_b: 0.4`, `EM 0.31`: whatever recurs with other numbers was worth printing. A
line counts from its third step on, and only if its numbers vary: the first two are read then.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.headings.line_labels import row_labels
from holter.ingest.console.headings.opening_settings import is_opening_name
from holter.ingest.console.headings.qualified_names import qualified, with_values_again
from holter.ingest.console.headings.settings_in_blocks import (
    is_in_settings,
    is_rate_below_settings,
    note_settings_above,
)
from holter.ingest.console.headings.subjects_above import labels_below, subject_labels
from holter.ingest.console.headings.training_sections import note_setting, section_labels
from holter.ingest.console.line.cached_shapes import shape_of_line
from holter.ingest.console.line.evaluation_names import best_of, name_of_best, name_of_mean
from holter.ingest.console.line.line_settings import is_learning_rate, is_of_model, is_setting
from holter.ingest.console.line.line_shapes import LineShape, MetricField
from holter.ingest.console.line.line_tokens import split_numbers, value_of
from holter.ingest.console.line.line_words import BEST, DATA_SPLIT, STOP_WORDS
from holter.ingest.console.line.names_around import ends_name_around
from holter.ingest.console.line.names_of_rows import numbered_row
from holter.ingest.console.line.number_lists import values_of_lists
from holter.ingest.console.line.result_lines import has_pairs_alone
from holter.ingest.console.line.settings_in_objects import as_read
from holter.ingest.console.plain.metrics_of_epoch import is_of_best, is_within_epoch
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.evaluated_parts import data_of_parts
from holter.ingest.console.steps.evaluation_passes import names_of_pass
from holter.ingest.console.steps.known_steps import has_steps
from holter.ingest.console.steps.late_evaluations import epoch_evaluated
from holter.ingest.console.steps.launch_beginnings import is_before_training
from holter.ingest.console.steps.opening_values import has_opening_values
from holter.ingest.console.steps.positions import position
from holter.ingest.console.steps.recurrence import recurring_values
from holter.ingest.console.text.values import parse_time
from holter.ingest.metric_names import is_metric_name
from holter.ingest.printed_numbers import BEFORE_NUMBER, without_objects

_NAME = r"([A-Za-z][\w@/.-]{0,30}(?: [A-Za-z][\w-]{0,30}){0,3})"
_NAME_AND_NUMBER = re.compile(r"(?:^|[\]>|:-] )[ \t]{0,20}" + _NAME + r"[ \t]{1,20}([-+]?[\d.]+)%?\s*$")
_ALL_DIGITS = 6
"""Digits behind the point of a number that is printed as it is, or as `%f` prints it, and not rounded."""
_NAME_AND_VALUE = 3
"""Texts and numbers of a line with a number behind its name."""
_POSITIONS = ("announced", "heading", "step", "evaluated at")
"""What is known of the steps of a text where lines have a position."""
_NO_RECORDS = ("wandb: ", '{"', '"')
"""How lines of its client begin, and those of JSON, which has formats of its own."""
_INITIAL = re.compile(
    r"(?i)\binitial\b|\b(?:before|prior to) (?:any |the )?(?:training|fine-?tuning)\b|"
    r"\bat initiali[sz]ation\b"
)
"""Words for what was measured before the training."""
_EXTREME = re.compile(r"(?i)(?:max|min)(?:imum)?[ _]")
"""Names of the extremes of an evaluation, no settings: `Validation: max length = 12`."""
_CONTINUES = re.compile(r" [a-z][a-z ]*[:=]")
"""How a sentence continues behind a number, up to a sign."""


def _recurring(line: str, state: DialectState) -> list[LineValues] | None:
    """The named numbers of a line that recurs, and those of the first such lines."""
    axis = axis_state(state)
    if line.lstrip().startswith(_NO_RECORDS):
        return None
    if axis.keys().isdisjoint(_POSITIONS):
        return _initial(line)
    if is_before_training(axis) and (initial := _initial(line)) is not None:
        return initial
    line = without_objects(line)
    parts = split_numbers(as_read(line))
    shape = shape_of_line(parts)
    if shape.counters or not shape.metrics or is_within_epoch(line, axis):
        return None  # a line that measures nothing, such as a warning, is at no step
    if has_opening_values(shape, axis.get("evaluating", ""), axis):
        return None
    step = position(axis)
    if step is None:
        step = axis.get("evaluated at")  # nothing is trained
    if step is None:
        return None
    evaluating = axis.get("evaluating", "")
    if not (evaluating or shape.split or shape.is_of_training):
        evaluating = data_of_parts([field.name for field in shape.metrics], step, axis)
    of_pass: Collection[str] = ()
    if shape.is_summary and not (evaluating or shape.split):  # `Averaged stats: wait: 0.1`
        evaluating = axis.get("split", "")
        of_pass = names_of_pass(evaluating, axis)
    # `Feature norm 6.9` below `Epoch 3`, `lr 0.01` and `Total loss 3.2` below any record
    alone = _NAME_AND_NUMBER.search(line)
    if alone is not None and not (evaluating or "announced" in axis or _may_be_alone(alone)):
        alone = None
    values = _values(parts, shape, evaluating, "" if alone is None else alone[1])
    means = {f"{evaluating}/{name}": name_of_mean(name, evaluating) for name in of_pass}
    values = {means.get(name, name): value for name, value in values.items()}
    values = _without_stated(values, axis)
    if evaluating or shape.split:
        step = epoch_evaluated(step, axis)
    if values and (row := numbered_row(parts, shape)):
        values = {f"{row}{name.removeprefix(f'{row[:-1]} ')}": value for name, value in values.items()}
    elif values:
        values = qualified(values, parts, shape, step, axis)
    subject = {**row_labels(values, axis), **subject_labels(values, axis)}
    labels = labels_below(subject, section_labels(axis))
    rows = with_values_again(LineValues(step, values, parse_time(line), labels), axis)
    found = (
        recurring_values(row.values, row.step, axis, row.time, labels, subject)
        for row in (rows if isinstance(rows, list) else [rows])
        if isinstance(row, LineValues)
    )
    return [values for each in found if each is not None for values in each] or None


def _initial(line: str) -> list[LineValues] | None:
    """The metrics of a model that is not trained yet, above the first position of a text, at the step 0."""
    if _INITIAL.search(line) is None:
        return None
    parts = split_numbers(without_objects(line))
    shape = shape_of_line(parts)
    if shape.counters or shape.is_settings:
        return None
    measured = {
        name if _INITIAL.search(name) else f"initial/{name}": value
        for name, value in _values(parts, shape, "", "").items()
        if is_metric_name(name) and not is_setting(name)
    }
    return [LineValues(0, measured, parse_time(line), is_late=True)] if measured else None


def _without_stated(values: dict[str, float], axis: DialectState) -> dict[str, float]:
    """The values without those that the line of the step itself states: of steps these are means of epochs.

    Elsewhere they are something else of the same name, such as the sum `val_loss: 21.2` beside its mean.
    """
    stated = axis.get("names", ())
    if not has_steps(axis):
        return {name: value for name, value in values.items() if name not in stated}
    return {f"epoch/{name}" if name in stated else name: value for name, value in values.items()}


def _values(parts: list[str], shape: LineShape, evaluating: str, alone: str) -> dict[str, float]:
    """The numbers behind names and signs, and that behind the name that is all else of a line, `alone`.

    None of settings, of counts, and of sentences and tuples in which a sign happens to be.
    """
    lists = values_of_lists(tuple(parts[::2]))
    split = evaluating or shape.split
    if is_of_best(parts, shape):
        split = best_of(split)
    values: dict[str, float] = {}
    are_pairs = has_pairs_alone(parts)
    names = {field.name for field in shape.metrics}
    are_measured = all("." in number for number in parts[1::2])
    for field in shape.metrics:
        before, number, behind = parts[2 * field.index : 2 * field.index + 3]
        before = parts[2 * lists.get(field.index, field.index)]
        is_marked = before.rstrip(" \t[({'\"").endswith((":", "=", " is"))
        is_of_data = f"{field.name} 2" in names or _is_next_of_data(field.name)  # `Val 1.35 0.45`
        is_marked |= is_of_data and are_measured
        is_marked |= field.index > 0 and ("_" in field.name or _is_of_other_data(field.name, values))
        if not (is_marked or field.name == alone):
            continue
        # `the 500 test images: 0.1` is no name, `train_label:(371, 100)` no value
        is_part = not are_pairs and _continues_sentence(parts, field)
        is_part |= before.endswith("(") and behind.startswith(",")
        # `DONE (t=0.04s)`, `Test: [0] Total time: 0:00:17`
        is_named = len(field.name) > 1 or len(shape.metrics) > 1 or _is_letter_alone(parts)
        is_named &= is_of_data or DATA_SPLIT.fullmatch(field.name) is None
        value = value_of(number)
        is_extreme = bool(split) and _EXTREME.match(field.name) is not None
        is_set = is_setting(field.name) and not (is_extreme or is_learning_rate(field.name))
        is_set |= is_of_model(field.name)
        if value is None or is_part or not is_named or is_set:
            continue
        values[name_of_best(field.name, split)] = value * field.scale
    return values


def _may_be_alone(found: re.Match[str]) -> bool:
    """Whether a name and a number are what is measured at each step, and no sentence.

    A number with all of its digits is what a program computed and printed as it is.
    """
    name = found[1]
    if is_learning_rate(name) or len(found[2].partition(".")[2]) >= _ALL_DIGITS:
        return True
    is_sentence = not STOP_WORDS.isdisjoint(name.lower().split()) or BEST.search(name) is not None
    return is_metric_name(name) and not (is_sentence or is_setting(name))


def _is_next_of_data(name: str) -> bool:
    """Whether a name is that of another number behind a word for data."""
    data, _, number = name.rpartition(" ")
    return number.isdecimal() and DATA_SPLIT.fullmatch(data) is not None


def _is_of_other_data(name: str, values: Iterable[str]) -> bool:
    """Whether a name is one before it with other data: `Train overlap: 0.5, Val overlap 0.4`."""
    data, _, of = name.partition(" ")
    is_data = bool(of) and DATA_SPLIT.fullmatch(data) is not None
    return is_data and any(each == of or each.partition(" ")[2] == of for each in values)


def _is_letter_alone(parts: list[str]) -> bool:
    """Whether a line is a letter and a measured number: `E = 1.5`, but not `DONE (t=0.04s)`, `i = 3`."""
    is_pair = len(parts) == _NAME_AND_VALUE and not parts[2].strip()
    return is_pair and "." in parts[1] and parts[0].strip(" \t=:").isalpha()


def _continues_sentence(parts: list[str], field: MetricField) -> bool:
    """Whether the text before a number continues with a sentence that the number before it is part of.

    That is none if it has a name of its own, and a word is all between: `recon: 0.5 kl: 0.1`. A number in the
    name of this one is of no sentence: `Train error last 80 batches: 0.65`.
    """
    before, index = parts[2 * field.index], field.index
    if not index or _CONTINUES.match(before) is None:
        return False
    if ends_name_around(before) and field.name in parts[2 * index - 2]:
        return False
    return len(before.split()) > 1 or not parts[2 * index - 2].rstrip(" ").endswith((":", "="))


def or_recurring(kind: LineKind) -> LineKind:
    """A kind whose lines may recur where it reads nothing from them."""

    def parse(line: str, state: DialectState) -> LineResult:
        if is_opening_name(line, state):
            note_setting(line, state)
            return None
        if kind.in_blocks and is_in_settings(line, state):
            return None
        found = kind.parse(line, state)
        if kind.in_blocks:
            note_settings_above(line, state)
            if is_rate_below_settings(line, state):
                return None
        return found or (None if "results" in state else _recurring(line, state))

    return replace(kind, parse=parse)


RECURRING_LINES = LineKind(
    pattern=LinearPattern(
        rb"(?m)[A-Za-z_)\]'\x22][ \t]{0,12}[:=]{1,2}[ \t]{0,40}[\['\x22(]{0,2}[-+]?\.?\d"
        # `Layer 3: 5`, `Q1=0.5`
        rb"|[A-Za-z] #?\d{1,2}: {1,12}[-+]?\.?\d"
        rb"|[A-Za-z]\d{1,2}[:=][ \t]{0,12}[-+]?\d{0,12}\.\d{1,20}(?:[^\d.]|$)"  # no address: `ib0:10.0.0.1`
        rb"|[A-Za-z)] is {1,4}[-+]?\d{1,12}\.\d{1,20}[ \t\r]{0,8}$"
        # `Max value in depth is 6945`
        rb"|^[ \t]{0,8}[Mm](?:ax|in)(?:imum)? val(?:ue)? (?:in|of) [^\n]{1,60} is {1,4}[-+]?\d"
        rb"|^(?:[^\n]{0,60}[\]>|:-] )?[ \t]{0,20}" + _NAME.encode() + rb"[ \t]{1,20}[-+]?\d{0,12}\.\d{1,20}"
        rb"%?[ \t\r]{0,8}$"
        rb"|^[ \t]{0,20}"
        + _NAME.encode()
        + rb"[ \t]{0,12}(?:[:=]|[-=]>)?[ \t]{1,20}"
        + BEFORE_NUMBER.removesuffix(b"?")
        + rb"[-+]?\d"
        # `Match percent 49%`; how much of something else is done is stated so, too
        rb"|(?i:percent(?:age)?|rate|ratio|share)[ \t]{1,20}\d{1,3}%[ \t\r]{0,8}$"
    ),
    parse=lambda line, state: None if is_opening_name(line, state) else _recurring(line, state),
    any_program=True,
)
"""Lines with named numbers that nothing else has read."""
