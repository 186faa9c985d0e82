"""Tables of an evaluation's scores that state no step: names between vertical lines above rows of numbers.

`|   AP   |  AP50  |` above `| 37.912 | 58.112 |` (detectron2), `| Arch | AP | AR |` above
`| pose_hrnet | 0.72 | 0.75 |` (HRNet). They are at the last step of the training; the first cell of a row may
be a name, before those of its numbers.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.pattern_search import LinearPattern
from holter.ingest.console.plain_line import axis_state, metric_name, parse_metrics_of_epoch
from holter.ingest.console.step_axis import last_step
from holter.ingest.console.training_sections import section_labels
from holter.ingest.console.values import parse_number
from holter.ingest.metric_names import is_metric_name

_AXES = frozenset({"epoch", "epochs", "step", "steps", "iter", "iteration", "global_step", "batch"})
"""Names of columns that count: such a table states its steps."""
_SHORT = re.compile(r"A[PR](?:\d{2}|[sml])")
"""Short names of precision and recall, as those of COCO: `AP50`, `ARs`."""
_MOST_ROWS = 50


def _names(line: str, state: DialectState) -> None:
    """Note the names of the columns of the rows below."""
    names = _cells(line)
    is_unique = len({*names}) == len(names)
    measures = any(is_metric_name(name) or _SHORT.fullmatch(name) for name in names)
    counts = not _AXES.isdisjoint(name.lower() for name in names)
    state["scores"] = names if is_unique and measures and not counts else []
    state["rows of scores"] = 0


def _row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a row, named after its first cell if that is a name; else those of any line."""
    names, cells, axis = state.get("scores", []), _cells(line), axis_state(state)
    if len(cells) != len(names) or state["rows of scores"] >= _MOST_ROWS:
        return parse_metrics_of_epoch(line, state)
    step = last_step(axis)
    if step is None:
        return None
    state["rows of scores"] += 1
    row = "" if parse_number(cells[0]) is not None else f"{cells[0]}/"
    split = axis.get("evaluating") or "eval"
    values = {
        metric_name(row + name, split): value
        for name, cell in zip(names, cells, strict=True)
        if (value := parse_number(cell)) is not None
    }
    return LineValues(int(step), values, labels=section_labels(axis))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


_CELL = (
    rb"[ \t]{0,30}[a-z](?:[a-z_@() %.-]{0,30}[a-z@_-]\d{1,3}|[a-z_@() %-]{0,30}(?: ?\.\d{1,2})?)[ \t]{0,30}\|"
)
_NUMBER = rb"[ \t]{0,30}-?(?:\d{1,12}(?:\.\d{1,16})?|nan)[ \t]{0,30}\|"
SCORE_TABLES = (
    LineKind(
        pattern=LinearPattern(rb"(?im)^[^\n|]{0,120}\|(?:" + _CELL + rb"){2,30}[ \t\r]{0,8}$"),
        parse=_names,
        any_program=True,
    ),
    LineKind(
        pattern=LinearPattern(
            rb"(?im)^[^\n|]{0,120}\|(?:[ \t]{0,30}[a-z][^\n|]{0,60}\|)?(?:"
            + _NUMBER
            + rb"){2,30}[ \t\r]{0,8}$"
        ),
        parse=_row,
        any_program=True,
    ),
)
"""Lines of names and lines of numbers between vertical lines."""
