"""Rows of a step that begin with a word and a number: `Zone 0: acc 0.5`, `threshold 0.3: recall 0.8`.

Such rows are of one of several if the same numbers come again at the next step that has any: elsewhere the
number may count something, or a report of everything is printed once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.metric_names import is_metric_name

_BEFORE = re.compile(r"[^\w\n]{0,12}(?P<word>[A-Za-z][A-Za-z ]{0,30}?)(?: ?(?P<sign>=) ?|[ _#]{1,2})")
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,3})?")
_BEHIND = re.compile(r" ?[\]):][^\w]{0,6}[A-Za-z]")
_MEASURED = re.compile(r"(?i)time|elapsed|took|speed|mem|rate|cost|/s\b")
"""Words before numbers that are measured, and tell no rows apart."""
_LEAST = 4
"""Texts and numbers of a line with a number before that of a metric, and more."""
_MOST_ROWS = 32
_MOST_FAMILIES = 16


class NamedValues(NamedTuple):
    """The values of a row, named after its word and number, and those of the rows of an earlier step."""

    values: dict[str, float]
    earlier_step: float
    earlier: list[dict[str, float]]


def tag_of(parts: list[str], shape: LineShape) -> str:
    """The word and the number before the metrics of a line, "" if there are none."""
    if len(parts) <= _LEAST or shape.row is not None or _NUMBER.fullmatch(parts[1]) is None:
        return ""
    before = _BEFORE.fullmatch(parts[0])
    if before is None or _BEHIND.match(parts[2]) is None:
        return ""
    is_other = is_metric_name(before["word"]) or _MEASURED.search(before["word"]) is not None
    return "" if is_other else f"{before['word']}{before['sign'] or ' '}{float(parts[1]):g}"


def named_by_tag(
    tag: str, template: str, values: dict[str, float], step: float, axis: dict[str, Any]
) -> NamedValues | None:
    """The values of a row with its word and number before their names, None if it may be of no family."""
    families: dict[str, list[Any]] = axis.setdefault("tagged rows", {})
    if template not in families and len(families) >= _MOST_FAMILIES:
        return None
    family = families.setdefault(template, [step, {}, False])
    at, rows, is_known = family
    if is_known:
        return NamedValues(with_words(tag, values), step, []) if tag in rows else None
    if at == step:
        if len(rows) <= _MOST_ROWS:
            rows[tag] = values
        return None
    comes_again = at < step and 1 < len(rows) <= _MOST_ROWS and tag in rows
    if not comes_again:  # at an earlier step it is of another launch
        family[:] = [step, {tag: values}, False]
        return None
    family[:] = [step, dict.fromkeys(rows), True]
    return NamedValues(with_words(tag, values), at, [with_words(each, row) for each, row in rows.items()])


def with_words(words: str, values: Mapping[str, float]) -> dict[str, float]:
    """Values with words before their names, without the number that is in the words: `k=5`.

    A name that begins with these words has them already.
    """
    return {
        name if name.startswith(f"{words} ") else f"{words}/{name}": value
        for name, value in values.items()
        if not words.startswith((f"{name}=", f"{name} "))
    }
