"""The summary of an evaluation in the form of COCO's tools, which many libraries of object detection print.

`Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.210` has no step: it is
that of the last line of the training. A line above a summary names what is compared, boxes or masks.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.headings.evaluation_headings import note_evaluated, with_evaluated
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.text.values import parse_number

_SUMMARY = re.compile(
    r"Average (?:Precision|Recall) {1,8}\((?P<short>A[PR])\) @\[ {0,4}IoU=(?P<iou>[\d.:]{1,12}) {0,12}\|"
    r" {0,4}area= {0,8}(?P<area>\w{1,12}) {0,4}\| {0,4}maxDets= {0,4}(?P<most>\d{1,6}) {0,4}\] = "
    r"(?P<value>-?[\d.]{1,20}|nan)"
)

_HEADING = re.compile(r"(?:IoU metric: {0,4}|Evaluate annotation type \*)(?P<of>[a-z]\w{0,40})")


def _heading(line: str, state: DialectState) -> None:
    """Note what the summary below is of."""
    if (match := _HEADING.search(line)) is not None:
        note_evaluated(match["of"], axis_state(state))


def _summary(line: str, state: DialectState) -> LineValues | None:
    """The number of a line, named after the data of the evaluation above and what is compared."""
    axis = axis_state(state)
    match, step = _SUMMARY.search(line), axis.get("step")
    value = parse_number(match["value"]) if match is not None else None
    if match is None or value is None or step is None:
        return None
    score = f"{match['short']}@{match['iou']} {match['area']} maxDets={match['most']}"
    name = f"{with_evaluated(_data(axis), axis)}/{score}"
    return LineValues(int(step), {name: value})


def _data(axis: DialectState) -> str:
    """The data of the evaluation above; COCO's own `Running per image evaluation...` names none."""
    heading: str = axis.get("evaluating", "")
    return axis.get("split") or ("" if heading.startswith("eval") else heading) or "val"


COCO_SUMMARY = (
    LineKind(
        pattern=LinearPattern(
            rb"(?m)(?:^|[ \]>:-])(?:IoU metric: {0,4}[a-z]\w{0,40}"
            rb"|Evaluate annotation type \*[a-z]\w{0,40}\*)[ \t\r]{0,8}$"
        ),
        parse=_heading,
    ),
    LineKind(pattern=re.compile(rb"Average (?:Precision|Recall) {1,8}\(A[PR]\) @\["), parse=_summary),
)
"""The lines of a summary and those that name what it is of."""
