"""Rows of a process that counts nothing: each states the time since the start, and no step.

`Time 00h 10m 46s, Avg Reward 0.3` of a process that evaluates at its own pace, next to others that train and
state their steps. Where more of such rows than processes print are above the first step of a text, they are
numbered, and have nothing to do with the steps of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from holter.ingest.console.line.line_metrics import is_named_as_time
from holter.ingest.console.line.line_shapes import LineShape
from holter.ingest.console.line.line_tokens import value_of
from holter.ingest.console.steps.row_numbers import RowNumbers
from holter.types import labels_of

STEPS_OF_ROWS = labels_of({"steps": "evaluations"})
"""What the numbers of rows count: they state nothing of how far the training is."""
TIMED_ROWS = RowNumbers("timed rows")
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
