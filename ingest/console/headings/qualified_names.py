"""Names of metrics that several lines of a step have: `training set : loss 0.3` and `evl set : loss 0.2`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from holter.ingest.console.dialect import LineResult, LineValues
from holter.ingest.console.line.class_figures import begin_with_figures
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import template_of
from holter.ingest.console.line.line_words import BEFORE_MESSAGE, DATA_SPLIT, LEVELS, LONE_UNITS
from holter.ingest.console.line.names_of_rows import text_before
from holter.ingest.console.line.tagged_rows import named_by_tag, tag_of, with_words
from holter.ingest.metric_names import is_metric_name

_MOST_QUALIFIED = 64
_WORDS_BEFORE = re.compile(r"([A-Za-z](?:[\w -]|(?<=\d)\.(?=\d)){1,40}?)[^\w]{1,8}$")
_PADDING = re.compile(r"[ \t]{2,}")
"""What is before numbers in columns, as wide as these are short."""

_OF_SET = re.compile(r"(?i)\w (?:sub|data)?set$")
"""Words for data of which neither the training nor an evaluation need be: `Labeled target set`."""
_LAST_NUMBER = re.compile(r"[ _#-]{0,4}\d{1,9}(?:\.\d{1,9})?$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def qualified(
    values: dict[str, float], parts: list[str], shape: LineShape, step: float, axis: dict[str, Any]
) -> dict[str, float]:
    """The values, after the words before them where another line of the step has these names.

    `training set : loss 0.3` and `evl set : loss 0.2` are two losses. If no words are before the second, the
    first is one of its parts: `{negative/acc: 0.5}` of `acc: 0.7`.
    """
    if shape.row is not None and _is_named_by_row(parts, shape, values):
        return values  # its label tells it apart
    template = str(template_of([_PADDING.sub(" ", part) for part in parts]))
    # below the heading of an epoch such lines may be its batches
    tag = "" if "announced" in axis and "heading" not in axis else tag_of(parts, shape)
    if tag and (of_tag := named_by_tag(tag, template, values, step, axis)) is not None:
        if of_tag.earlier:
            _given(step, axis)["earlier"] = [of_tag.earlier_step, of_tag.earlier]
        return of_tag.values
    lines: dict[str, str] = axis.setdefault("qualified", {})
    if (of_whole := axis.get("parts of a whole", {}).get(template)) is not None:
        _give_again(of_whole, values, step, axis)
        _given(step, axis)["is part"] = True
    if template not in lines and len(lines) < _MOST_QUALIFIED:
        words = _words_before(parts, shape, values)
        if _OF_SET.search(words) is not None and DATA_SPLIT.search(words) is None:
            lines[template] = words  # `Labeled target set: loss: 0.5`
    if template not in lines:
        given = _given(step, axis)
        row = _number_of_row(parts, shape)
        others = {given["names"].setdefault(name + row, template) for name in values} - {template}
        if not others:
            if shape.is_of_training:
                given["training"] = True
            _note_first(template, _words_before(parts, shape, values), values, axis)
            return values
        words = _words_before(parts, shape, values)
        if not words and given.get("training"):  # `* Training: LOSS - 8.9` above `* LOSS - 8.8`
            words = "eval"
        if len(lines) >= _MOST_QUALIFIED or all(name.startswith(f"{words}/") for name in values):
            return values  # the latter are named after their row, which is these words
        _qualify_first(others, words, step, axis)
        if not words:
            return values
        lines[template] = words
    return with_words(lines[template], values)


def with_values_again(found: LineValues | None, axis: dict[str, Any]) -> LineResult:
    """The values of a line, behind those that were given without the words before them, with these."""
    given = axis.get("given", {})
    if found is None or given.get("step") != found.step:
        return found
    step, earlier = given.pop("earlier", (0, ()))
    rows = [LineValues(int(step), values, labels=found.labels, is_late=True) for values in earlier]
    if again := given.pop("again", {}):
        rows.append(LineValues(found.step, again, labels=found.labels))
    if given.pop("is part", False):
        found = found._replace(is_provisional=True, is_late=given.pop("is second", False))
    return [*rows, found] if rows else found


def note_again(values: dict[str, float], step: float, axis: dict[str, Any]) -> None:
    """Note the names that values of a step should have had, and that the line at hand has those they had."""
    given = _given(step, axis)
    given.setdefault("again", {}).update(values)
    given["is part"] = given["is second"] = True


def _given(step: float, axis: dict[str, Any]) -> dict[str, Any]:
    """What was given at a step: `names`, each with the line that had it."""
    given: dict[str, Any] = axis.get("given", {"step": step, "names": {}})
    if given["step"] != step:
        given = {"step": step, "names": {}}
    axis["given"] = given
    return given


def _give_again(words: str, values: dict[str, float], step: float, axis: dict[str, Any]) -> None:
    """Give values of a step once more, with the words before their names."""
    again = _given(step, axis).setdefault("again", {})
    again |= with_words(words, values)


def _note_first(template: str, words: str, values: dict[str, float], axis: dict[str, Any]) -> None:
    """Note the words before a line that comes for the first time, and its values up to the next step."""
    seen: list[str] = axis.setdefault("given before", [])
    if template in seen or len(seen) >= _MOST_QUALIFIED:
        return
    seen.append(template)
    if words:
        axis["given"].setdefault("first", {})[template] = [words, values]


def _qualify_first(templates: Collection[str], words: str, step: float, axis: dict[str, Any]) -> None:
    """Put the words before some lines before their names, if the first ones of these are of this step.

    That is if another line has words that differ in a number alone, `Faces x2` and `Faces x3`, or none. Then
    they are parts of what it is of, and have its names as well: it replaces their values.
    """
    first: dict[str, Any] = axis["given"].get("first", {})
    for template in sorted(first.keys() & templates):
        before, values = first[template]
        if not words or _NUMBER.sub("0", before) == _NUMBER.sub("0", words):
            del first[template]
            axis.setdefault("qualified" if words else "parts of a whole", {})[template] = before
            _give_again(before, values, step, axis)


def _number_of_row(parts: list[str], shape: LineShape) -> str:
    """Which of several things a line is of, behind a name: `Test on task 1 - svhn: loss=0.5`."""
    return "" if shape.row is None else f" of {shape.row.name} {parts[2 * shape.row.index + 1]}"


def _is_named_by_row(parts: list[str], shape: LineShape, values: Collection[str]) -> bool:
    """Whether nothing but the word for its row is before the values of a line: `| 12 Horizon | MAE: 2.5`."""
    words = _words_before(parts, shape, values).lower()
    return shape.row is not None and words in ("", shape.row.name)


def _words_before(parts: list[str], shape: LineShape, values: Collection[str]) -> str:
    """The words before the first of some values of a line: `evl set : loss 0.2`."""
    named = (field for field in shape.metrics if any(name.endswith(field.name) for name in values))
    first = next(named, shape.metrics[0])
    before = text_before(parts, first)
    match = None if BEFORE_MESSAGE.fullmatch(before) is not None else _WORDS_BEFORE.search(before)
    words = "" if match is None else match[1].rpartition(" - ")[2].strip()
    if first.index:  # the numbers before it are others in other lines
        words = _LAST_NUMBER.sub("", words)
    is_name = words not in LEVELS and words not in LONE_UNITS and DATA_SPLIT.fullmatch(words) is None
    return words if is_name and words else _subject_of(shape)


def _subject_of(shape: LineShape) -> str:
    """The words before the metric in the first of several names: `cat precision: 0.9 | recall: 0.8`."""
    names = [field.name for field in shape.metrics]
    subject, _, metric = names[0].rpartition(" ")
    is_metric = is_metric_name(metric) or begin_with_figures(names)  # `cat P: 0.9 R: 0.8 F1: 0.85`
    is_of_metric = len(names) > 1 and is_metric and not is_metric_name(subject)
    # `DETR Class Loss: 0.5 | DETR Box Loss: 0.4` are two losses of the same
    first = subject.split(" ")[0]
    is_of_metric &= not any(name.startswith(f"{first} ") for name in names[1:])
    return subject if is_of_metric and DATA_SPLIT.search(subject) is None else ""
