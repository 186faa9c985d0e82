"""The summary of an evaluation in the form of COCO's tools, which many libraries of object detection print.

`Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.210` has no step: it is
that of the last line of the training.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.text.values import parse_number

_SUMMARY = re.compile(
    r"Average (?:Precision|Recall) {1,8}\((?P<short>A[PR])\) @\[ {0,4}IoU=(?P<iou>[\d.:]{1,12}) {0,12}\|"
    r" {0,4}area= {0,8}(?P<area>\w{1,12}) {0,4}\| {0,4}maxDets= {0,4}(?P<most>\d{1,6}) {0,4}\] = "
    r"(?P<value>-?[\d.]{1,20}|nan)"
)


def _summary(line: str, state: DialectState) -> LineValues | None:
    match, step = _SUMMARY.search(line), axis_state(state).get("step")
    value = parse_number(match["value"]) if match is not None else None
    if match is None or value is None or step is None:
        return None
    name = f"val/{match['short']}@{match['iou']} {match['area']} maxDets={match['most']}"
    return LineValues(int(step), {name: value})


SUMMARY = LineKind(pattern=re.compile(rb"Average (?:Precision|Recall) {1,8}\(A[PR]\) @\["), parse=_summary)
