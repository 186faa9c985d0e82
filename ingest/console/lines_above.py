"""Lines above the counter that they belong to: `loss: 0.5`, and below it `Finished epoch 1`.

Most programs say where they are before they say what they measured. Lines with values before the first
counter of a text are therefore kept. If such a line comes again behind that counter, and this says that
something ended or follows such lines alone, it is below its values; so is a step with values of its own of
which the memory or a rate is right above, or results where the step has others of an evaluation. The lines
are then read when their counter comes, as if they were below it. An evaluation right above the first step is
at this step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from holter.ingest.console.data_names import is_of_evaluation
from holter.ingest.console.dialect import DialectState
from holter.ingest.console.evaluated_parts import begins_training, note_before_training
from holter.ingest.console.line_counters import Counter
from holter.ingest.console.line_settings import is_learning_rate, is_of_model, is_setting
from holter.ingest.console.line_shapes import LineShape
from holter.ingest.console.line_tokens import split_numbers, template_of
from holter.ingest.console.line_words import ENDS
from holter.ingest.console.lines_of_epochs import MOST_LINES_OF_EPOCH
from holter.ingest.console.plain_line import counts_of
from holter.ingest.console.result_lines import is_named_number
from holter.ingest.console.shape_reader import shape_of_line
from holter.ingest.console.step_axis import known_axis, position
from holter.ingest.console.unnumbered_rows import note_rows
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_MOST_LINES = 64
_LONGEST = 500
_LAST_OF_FIRST = 1
"""The number of the first epoch or step of a text that is not the rest of another one."""

_OF_UPDATE = re.compile(r"(?i)grad(?:ient)?s?(?:[ _]|$)|\bnorm$|\btime\b|memory|/s(?:ec)?$|per[ _]sec")
"""Names of what is measured of an update, not of the model."""
_LONGEST_LINE_END = 2


class LineAbove(NamedTuple):
    """A line that waits for a counter: the number of its kind, where it begins, and its bytes as Latin-1.

    `message` is what of it was not printed by a launcher or a logger. `in_block`: lines of its kind below one
    another belong together.
    """

    kind: int
    start: int
    text: str
    message: str
    in_block: bool = False


class _Known(NamedTuple):
    """What is said of a line: its text without numbers, and its shape."""

    template: int
    shape: LineShape
    has_numbers: bool
    is_named_number: bool


def may_wait(state: DialectState) -> bool:
    """Whether lines may be read later than they come: no counter was seen yet, or it is known."""
    return "above" in state or "placed" not in state


def has_waiting(state: DialectState) -> bool:
    """Whether lines wait that are known to belong to a counter below them."""
    above = state.get("above", {})
    return "templates" in above and bool(above["lines"])


def lines_due_before(line: str, state: DialectState) -> list[LineAbove]:
    """The lines above that are read before a line, as it shows that they belong to the counter between."""
    above = state.get("above")
    if above is None:
        return []
    if "templates" in above:
        if len(above["lines"]) < _MOST_LINES:
            return []
        del state["above"]  # too many for the lines of an epoch
        return [LineAbove(*each) for _, each in above["lines"]]
    known = _known(line)
    if "first" not in above:
        return _before_training(line, state) or _rows_above(known.shape, line, state)
    if rows := _rows_of_epoch(known, state):
        return rows
    templates = [template for template, _ in above["lines"]]
    if known.template not in templates or not _is_measured(known.shape):
        return []
    begin = templates.index(known.template)
    if not (above["ends"] or _is_of_training(known.shape)):
        touching = len(templates) - above.get("touching", 0)
        may_be_early = _is_result(known.shape) and not above.get("evaluates", False)
        if known.template not in templates[touching:] or may_be_early:
            return []
        begin = touching
    while begin and not _shape(above["lines"][begin - 1]).metrics:
        begin -= 1  # headings of what is below them
    lines = above["lines"][begin:]
    above["templates"], above["lines"] = sorted({template for template, _ in lines}), []
    above["at"] = above["first"]
    if "heading" in above:
        above["lines"].append(above.pop("heading"))
    return [LineAbove(*each) for _, each in lines]


def waits(line: str, place: LineAbove, state: DialectState) -> bool:
    """Whether a line waits for the counter below it, as do all between it and those that wait already."""
    above = state.get("above")
    if above is None or "templates" not in above or "counted" in known_axis(state):
        return False
    known = _known(line)
    is_between = bool(above["lines"]) and not known.shape.counters and _may_hold_values(known, place)
    if known.template not in above["templates"] and not is_between:
        return False
    above["lines"].append([known.template, place])
    return True


def lines_due_behind(
    line: str, place: LineAbove, state: DialectState, *, has_values: bool
) -> list[LineAbove]:
    """The lines above that are read behind a line, as it states the counter that they belong to.

    `has_values`: values were read from the line itself. Without any it may be one that belongs to a counter.
    """
    above, at = state.get("above"), position(known_axis(state))
    known = _known(line)
    if at is None:
        if not (has_values or known.shape.counters):
            _keep(known, place, state)
        return []
    state["placed"] = True
    if above is None:
        return []
    if has_values:
        above.pop("heading", None)
    if not known.shape.counters:
        if not known.has_numbers and "templates" not in above:
            above["heading"] = [known.template, place]  # maybe of values that wait
        elif "first" in above and "templates" not in above and has_values and not above["ends"]:
            _forget_above(state)  # the counter is above these values
        return []
    if "templates" not in above:
        return _lines_above_first(line, place, at, known.shape, state)
    if at == above["at"]:
        return []
    above["at"], lines, above["lines"] = at, above["lines"], []
    return [LineAbove(*each) for _, each in lines]


def _lines_above_first(
    line: str, place: LineAbove, at: int, shape: LineShape, state: DialectState
) -> list[LineAbove]:
    """Note the first counter of the text; the evaluation right above it if it is a step of the training."""
    above = state["above"]
    ends = ENDS.search(line) is not None
    if "first" not in above and not ends and _announces(line, shape):
        del state["above"]
        return []
    if "first" not in above and (ends or at <= _LAST_OF_FIRST):
        counted = {field.counter for field in shape.counters}
        is_step = shape.is_record and not shape.split and counted <= {Counter.STEP, Counter.GLOBAL_STEP}
        if not is_step or not (lines := [*_last_evaluation(above["lines"])]):
            above["first"], above["ends"] = at, ends
            is_epoch = counted == {Counter.EPOCH} and not (ends or shape.is_record)
            above["epoch"] = is_epoch and any(_is_of_training(_shape(each)) for each in above["lines"][-1:])
            if shape.is_record and not shape.split:
                above["touching"] = _touching(above["lines"], place)
                above["evaluates"] = any(is_of_evaluation(field.name) for field in shape.metrics)
            return []
        del state["above"]
        return lines
    if above.get("first") != at:
        del state["above"]  # nothing of what was above the first counter is above the second
    return []


def remaining(state: DialectState) -> list[LineAbove]:
    """The lines that still wait at the end of a launch."""
    above = state.get("above")
    if above is None or "first" not in above:
        return []
    lines = above["lines"] if "templates" in above or above["ends"] else []
    if "templates" in above:
        above["lines"], above["at"] = [], None
    else:
        del state["above"]
    return [LineAbove(*each) for _, each in lines]


def _before_training(line: str, state: DialectState) -> list[LineAbove]:
    """The results of an evaluation right above the line with which the training begins, at the step 0.

    Those of a training that is resumed are at an unknown one.
    """
    if not begins_training(line.strip()) or "resum" in line.lower():
        return []
    lines = [*_last_evaluation(state["above"]["lines"])]
    if lines:
        state["above"]["lines"] = []
        note_before_training(state.setdefault("plain lines", {}))
    return lines


def _rows_above(shape: LineShape, line: str, state: DialectState) -> list[LineAbove]:
    """The lines above the first counter that are steps of their own.

    They are losses of a training in the same words, more than processes print in an epoch, or as many as the
    step that this line states.
    """
    above = state["above"]
    if not (shape.is_record and above["lines"]) or shape.split:
        return []
    template, rows = _last_rows(above["lines"])
    before = above.get("dropped", 0) if len(rows) == len(above["lines"]) else 0
    counts = counts_of(shape, split_numbers(line)[1::2])
    number, _ = next(iter(counts.values()), (0, 0))
    if counts.keys() == {Counter.EPOCH}:
        are_steps = len(rows) > MOST_LINES_OF_EPOCH
    else:
        are_steps = counts.keys() == {Counter.STEP} and len(rows) + before == number > 1
    if not are_steps or not _is_of_training(_shape(rows[0])):
        return []
    return _as_steps(template, rows, before, state)


def _rows_of_epoch(known: _Known, state: DialectState) -> list[LineAbove]:
    """The losses above the line of the first epoch that are steps of it, as its results are below.

    Losses of the training below would say that the epoch is above them.
    """
    above = state["above"]
    is_result = _is_measured(known.shape) and not _is_of_training(known.shape)
    if not is_result or not above.get("epoch", False):
        return []
    template, rows = _last_rows(above["lines"])
    return _as_steps(template, rows, 0, state) if len(rows) > MOST_LINES_OF_EPOCH else []


def _last_rows(lines: Sequence[Any]) -> tuple[int, list[Any]]:
    """The last of some lines that are in the same words, and these words; the last one first."""
    template: int = lines[-1][0]
    return template, [*takewhile(lambda each: each[0] == template, reversed(lines))]


def _as_steps(template: int, rows: Sequence[Any], before: int, state: DialectState) -> list[LineAbove]:
    """Lines that are steps of their own, behind so many `before` them."""
    del state["above"]
    state["placed"] = True
    note_rows(template, before, state.setdefault("plain lines", {}))
    return [LineAbove(*each) for _, each in reversed(rows)]


def _keep(known: _Known, place: LineAbove, state: DialectState) -> None:
    """Keep a line above the first counter, one of the last ones."""
    is_kept = _is_measured(known.shape) or not known.has_numbers
    if (
        not (is_kept and _may_hold_values(known, place))
        or known.shape.is_settings
        or len(place.text) > _LONGEST
    ):
        return
    above = state.setdefault("above", {"lines": []})
    lines = above["lines"]
    if not lines or lines[-1][0] != known.template:
        above["dropped"] = 0
    lines.append([known.template, place])
    if len(lines) > _MOST_LINES:
        above["dropped"] = above.get("dropped", 0) + (lines[0][0] == known.template)
        del lines[0]


def _may_hold_values(known: _Known, place: LineAbove) -> bool:
    """Whether a line may hold values, or announce some; others may be passed over unseen."""
    is_known = any(is_metric_name(field.name) for field in known.shape.metrics)
    # `Time per epoch: 3.2` looks like one that counts
    return is_known or known.is_named_number or place.in_block or not known.has_numbers


def _forget_above(state: DialectState) -> None:
    """Forget the lines above the first counter but for the memory or rates that were right above it."""
    above = state["above"]
    lines = above["lines"][len(above["lines"]) - above.get("touching", 0) :]
    if not lines or any(_is_result(_shape(each)) for each in lines):
        del state["above"]
    else:
        above["lines"] = lines


def _announces(line: str, shape: LineShape) -> bool:
    """Whether a line without values says that they are below it: `Step 0 of 40:`."""
    return not shape.is_record and line.rstrip().endswith(":")


def _touching(lines: Sequence[Any], place: LineAbove) -> int:
    """How many of the lines are right above a place, with nothing between them and it."""
    count, below = 0, place.start
    for _, line in reversed(lines):
        above = LineAbove(*line)
        if not 0 < below - above.start - len(above.text) <= _LONGEST_LINE_END:
            break
        count, below = count + 1, above.start
    return count


def _is_result(shape: LineShape) -> bool:
    """Whether a line has what may be measured before the training, unlike its rates and the memory."""
    return _is_of_evaluation(shape) or any(
        is_metric_name(field.name) and not (_OF_UPDATE.search(field.name) or is_learning_rate(field.name))
        for field in shape.metrics
    )


def _last_evaluation(lines: Sequence[Any]) -> Iterator[LineAbove]:
    """The last lines if they are results, and one says that it is of an evaluation."""
    results = [*takewhile(lambda each: _is_measured(_shape(each)), reversed(lines))]
    if any(_is_of_evaluation(_shape(each)) for each in results):
        yield from (LineAbove(*each) for _, each in reversed(results))


def _shape(kept: Sequence[Any]) -> LineShape:
    return _known(LineAbove(*kept[1]).message).shape


def _known(line: str) -> _Known:
    parts = split_numbers(line)
    shape = shape_of_line(parts)
    return _Known(
        template_of(parts),
        shape,
        has_numbers=len(parts) > 1,
        is_named_number=is_named_number(parts, shape),
    )


def _is_measured(shape: LineShape) -> bool:
    """Whether a line has a result or a rate, no other setting."""
    return any(
        is_learning_rate(field.name) or not (is_setting(field.name) or is_of_model(field.name))
        for field in shape.metrics
    )


def _is_of_evaluation(shape: LineShape) -> bool:
    return bool(shape.split) or any(is_of_evaluation(field.name) for field in shape.metrics)


def _is_of_training(shape: LineShape) -> bool:
    """Whether a line has a loss of the training, which nobody measures before it."""
    return not shape.split and any(
        is_metric_name(field.name)
        and "loss" in in_english(field.name).lower()
        and not is_of_evaluation(field.name)
        for field in shape.metrics
    )
