"""Lines that come again and again between the records of a training, with names that are no known metrics.

`Current lambda_a: 0.02, lambda_b: 0.4`, `EM 0.31`: whatever recurs with other numbers was worth printing. A
line counts from its third step on, and only if its numbers vary: the first two are read then.
"""

from __future__ import annotations

import re
from dataclasses import replace

from holter.ingest.console.dialect import DialectState, LineKind, LineResult, LineValues
from holter.ingest.console.line_settings import is_of_model, is_setting
from holter.ingest.console.line_shapes import LineShape, shape_of_line
from holter.ingest.console.line_tokens import split_numbers, value_of
from holter.ingest.console.pattern_search import LinearPattern
from holter.ingest.console.plain_line import axis_state, metric_name
from holter.ingest.console.recurrence import recurring_values
from holter.ingest.console.step_axis import position
from holter.ingest.console.training_sections import section_labels
from holter.ingest.console.values import parse_time

_NAME_AND_NUMBER = re.compile(r"(?:^|[\]>|:-] )[ \t]{0,20}([A-Za-z][\w@/.-]{0,30})[ \t]{1,20}[-+]?[\d.]+\s*$")


def _recurring(line: str, state: DialectState) -> list[LineValues] | None:
    """The named numbers of a line that recurs, and those of the first such lines."""
    axis = axis_state(state)
    step = position(axis)
    if step is None or line.startswith("wandb: "):
        return None
    values = _values(line, axis.get("evaluating", ""))
    return recurring_values(values, step, axis, parse_time(line), section_labels(axis))


def _values(line: str, split: str) -> dict[str, float]:
    """The numbers behind names and signs, or behind the only name of a line; none of settings and counts."""
    parts = split_numbers(line)
    shape: LineShape = shape_of_line(parts)
    if shape.counters:
        return {}
    alone = _NAME_AND_NUMBER.search(line)
    values = {}
    for field in shape.metrics:
        is_marked = parts[2 * field.index].rstrip(" \t[({'\"")[-1:] in (":", "=")
        if not (is_marked or (alone is not None and alone[1] == field.name)):
            continue
        value = value_of(parts[2 * field.index + 1])
        is_named = len(field.name) > 1 or len(shape.metrics) > 1  # `DONE (t=0.04s)`
        if value is not None and is_named and not is_setting(field.name) and not is_of_model(field.name):
            values[metric_name(field.name, split or shape.split)] = value * field.scale
    return values


def or_recurring(kind: LineKind) -> LineKind:
    """A kind whose lines may recur where it reads nothing from them."""

    def parse(line: str, state: DialectState) -> LineResult:
        found = kind.parse(line, state)
        return found or (None if "results" in state else _recurring(line, state))

    return replace(kind, parse=parse)


RECURRING_LINES = LineKind(
    pattern=LinearPattern(
        rb"(?m)[A-Za-z_)\]'\x22][ \t]{0,12}[:=][ \t]{0,12}[\['\x22(]{0,2}[-+]?\.?\d"
        rb"|^(?:[^\n]{0,60}[\]>|:-] )?[ \t]{0,20}[A-Za-z][\w@/.-]{0,30}[ \t]{1,20}[-+]?\d{0,12}\.\d{1,12}"
        rb"[ \t\r]{0,8}$"
    ),
    parse=_recurring,
    any_program=True,
)
"""Lines with named numbers that nothing else has read."""
