"""Rows of a process that counts nothing: each states the time since the start, and no step.

`Time 00h 10m 46s, Avg Reward 0.3` of a process that evaluates at its own pace, next to others that train and
state their steps. Where more of such rows than processes print are above the first step of a text, they are
numbered, and have nothing to do with the steps of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from holter.ingest.console.line.line_metrics import is_named_as_time
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import value_of
from holter.types import labels_of

STEPS_OF_ROWS = labels_of({"steps": "evaluations"})
"""What the numbers of rows count: they state nothing of how far the training is."""
_ROWS = "timed rows"
_LEAST_METRICS = 2


def are_timed(shape: LineShape, numbers: Iterable[Sequence[str]]) -> bool:
    """Whether lines of a shape with these numbers begin with a time that goes up, and count nothing."""
    if shape.counters or len(shape.metrics) < _LEAST_METRICS:
        return False
    first = shape.metrics[0]
    if first.index != 0 or not is_named_as_time(first.name):
        return False
    times = [value_of(line[0]) or 0.0 for line in numbers]
    return all(earlier < later for earlier, later in pairwise(times))


def note_timed_rows(template: int, before: int, axis: dict[str, Any]) -> None:
    """Note that lines of this text are numbered; so many were `before` those that are read first."""
    axis[_ROWS] = [template, before]


def next_timed_row(template: int, axis: dict[str, Any]) -> int | None:
    """The number of a line of this text, from 1 on; None if its lines are not numbered."""
    rows = axis.get(_ROWS)
    if rows is None or rows[0] != template:
        return None
    rows[1] += 1
    return int(rows[1])


def begin_timed_rows(axis: dict[str, Any]) -> None:
    """Number from 1 on: another launch begins."""
    if _ROWS in axis:
        axis[_ROWS][1] = 0
