"""The results of Pascal VOC's evaluation, which libraries of object detection print: `AP for car = 0.71`.

They have no step: they are at the last one of the training.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_number

_RESULT = re.compile(r"^\s*(?:AP for (?P<name>[\w -]{1,60})|Mean AP) = (?P<value>[\d.]{1,20}|nan)\s*$")


def _result(line: str, state: DialectState) -> LineValues | None:
    match = _RESULT.match(line)
    value = parse_number(match["value"]) if match is not None else None
    step = state.get("iteration", position(axis_state(state)))  # Caffe's solver counts by itself
    if match is None or value is None or step is None:
        return None
    return LineValues(int(step), {f"test/{match['name']}/AP" if match["name"] else "test/Mean AP": value})


VOC_RESULTS = LineKind(
    pattern=re.compile(rb"(?m)^[ \t]{0,8}(?:AP for [\w -]{1,60}|Mean AP) = [\dn]"), parse=_result
)
