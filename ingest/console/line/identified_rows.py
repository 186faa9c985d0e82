"""Rows of a step that begin with the number of what they are of: `Label: 1  Prec: 0.9 Recall: 0.8`.

A whole number that goes up by one from row to row, and begins again at each step, is measured of nothing: it
tells the rows apart, as a word before a number does (`Class 1: Prec 0.9`). The rows of the first one have no
label, as it may be the only one, unless such a word is before its number: `Label: 0` is one of several.

So does a setting between the label of a row and a colon, if a row of the same step has another one:
`Fold 9, k=20: recall = 0.4`. Without a label the words before names distinguish rows (`qualified`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import value_of
from holter.ingest.console.line.line_words import ROWS
from holter.ingest.metric_names import is_metric_name

_COLON = re.compile(r": {1,4}[^\W\d]")
_LARGEST = 999
_MOST_LAYOUTS = 64
_FIRST = (0, 1)
_LEAST_FIELDS = 2
_KNOWN = ROWS | {"label"}
"""Names of what is never measured."""


class _Rows(NamedTuple):
    """The last row of a layout: its step and number, the first number, and what the numbers are."""

    step: float
    number: float
    first: float
    counts_rows: bool
    is_measured: bool = False


def identity_of_row(
    template: int,
    step: float,
    shape: LineShape,
    parts: Sequence[str],
    axis: dict[str, Any],
    *,
    may_count: bool,
) -> dict[str, str] | None:
    """The label of a row at a step that begins with its number, maybe empty for the first; None for others.

    `may_count`: rows without a label may turn out to be steps of their own, each at another one.
    """
    is_set = _begins_with_setting(shape, parts)
    if not is_set and (may_count or not _may_begin_with_number(shape, parts)):
        return None
    name, text = shape.metrics[0].name, parts[2 * shape.metrics[0].index + 1]
    number = value_of(text)
    if number is None:
        return None
    layouts: dict[str, list[Any]] = axis.setdefault("rows with numbers", {})
    if (stored := layouts.get(str(template))) is None:
        if len(layouts) >= _MOST_LAYOUTS:
            return None
        rows = _Rows(step, number, number, counts_rows=name.lower() in _KNOWN)
    else:
        rows = _next(_Rows(*stored), step, number, is_set=is_set)
    layouts[str(template)] = [*rows]
    if rows.is_measured or not (is_set or rows.counts_rows):
        return None
    return {} if number == rows.first and name.lower() not in _KNOWN else {name: text}


def _next(last: _Rows, step: float, number: float, *, is_set: bool) -> _Rows:
    """What is known of a layout behind another row, at this step."""
    if is_set:
        is_other = number != last.number
        counts_rows = last.counts_rows or (is_other and step == last.step)
        return _Rows(step, number, last.first, counts_rows, is_measured=is_other and not counts_rows)
    follows = number == last.number + 1 and step == last.step and last.first in _FIRST
    is_measured = last.is_measured or not (follows or number == last.first)
    return _Rows(step, number, last.first, last.counts_rows or follows, is_measured)


def _begins_with_setting(shape: LineShape, parts: Sequence[str]) -> bool:
    """Whether an unknown name, an equals sign and a number are between the label of a row and its metrics."""
    first = -1 if shape.row is None else shape.row.index + 1
    if len(shape.metrics) < _LEAST_FIELDS or shape.metrics[0].index != first:
        return False
    is_ahead = parts[2 * first].rstrip().endswith("=") and _COLON.match(parts[2 * first + 2]) is not None
    names = [field.name for field in shape.metrics]
    return is_ahead and not is_metric_name(names[0]) and all(map(is_metric_name, names[1:2]))


def _may_begin_with_number(shape: LineShape, parts: Sequence[str]) -> bool:
    """Whether a line begins with an unknown name, a sign and a small whole number, before a known metric."""
    if len(shape.metrics) < _LEAST_FIELDS or shape.metrics[0].index or shape.row is not None:
        return False
    is_whole = parts[0].rstrip()[-1:] in (":", "=") and parts[1].isdecimal() and int(parts[1]) <= _LARGEST
    names = [field.name for field in shape.metrics]
    return is_whole and not is_metric_name(names[0]) and any(map(is_metric_name, names[1:]))
