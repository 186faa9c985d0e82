"""Tables of scores that state no step: names between vertical lines above rows of numbers.

`|   AP   |  AP50  |` above `| 37.912 | 58.112 |` (detectron2), `| Arch | AP | AR |` above
`| pose_hrnet | 0.72 | 0.75 |` (HRNet), `| category | AP | category | AP |` above several rows in a
line. They are at the last step of the training; the first cell of a row may be a name, before those of its
numbers, or the data that they are of. Below `| Metric | Value |` it is the name of the metric itself.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import DialectState, LineKind, LineValues
from holter.ingest.console.headings.evaluation_headings import evaluated_here
from holter.ingest.console.headings.training_sections import section_labels
from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.plain.metrics_of_epoch import parse_metrics_of_epoch
from holter.ingest.console.plain.plain_line import axis_state
from holter.ingest.console.search.pattern_search import LinearPattern
from holter.ingest.console.steps.positions import position
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name

_AXES = frozenset({"epoch", "epochs", "step", "steps", "iter", "iteration", "global_step", "batch"})
"""Names of columns that count: such a table states its steps."""
_OF_METRICS = frozenset({"metric", "metrics", "measure", "name", "type"})
"""Last words of the name of a first column in which each row is that of a metric: `Loss type`."""
_OF_VALUES = frozenset({"value", "values", "score", "result", "current"})
"""Last words of the name of the column of their numbers."""
_OF_CLASSES = frozenset({"class", "classes", "category", "categories"})
"""The same of one that has classes, which may be called after data: `train`."""
_LINE = re.compile("[|│┃║]")
_SHORT = re.compile(r"A[PR](?:\d{2}|[sml])")
"""Short names of precision and recall, as those of COCO: `AP50`, `ARs`."""
_MOST_ROWS = 50
_LEAST_OF_DATA = 2


def _names(line: str, state: DialectState) -> None:
    """Note the names of the columns of the rows below."""
    names = _cells(line)
    distinct = [*dict.fromkeys(names)]
    side_by_side = len(names) // len(distinct) if distinct else 1
    if side_by_side > 1 and names == distinct * side_by_side and len(distinct) > 1:
        names = distinct  # `| category | AP | category | AP |`
    is_unique = len({*names}) == len(names)
    measures = any(is_metric_name(name) or _SHORT.fullmatch(name) for name in names)
    measures |= bool(names) and _last_word(names[0]) in _OF_METRICS
    if len(names) > _LEAST_OF_DATA and all(map(DATA_SPLIT.fullmatch, names[1:])):  # `|  | train | val |`
        names[0], measures = "metric", True
    counts = not _AXES.isdisjoint(name.lower() for name in names)
    state["scores"] = names if is_unique and measures and not counts else []
    state["rows of scores"] = 0
    state["scores side by side"] = side_by_side


def _row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a row, named after its first cell if that is a name; else those of any line."""
    names, cells, axis = state.get("scores", []), _cells(line), axis_state(state)
    several = state.get("scores side by side", 1)
    if len(cells) != several * len(names) or state["rows of scores"] >= _MOST_ROWS:
        return parse_metrics_of_epoch(line, state)
    step = position(axis)
    if step is None:
        return None
    state["rows of scores"] += 1
    values = {
        _name(name, row[0] if parse_number(row[0]) is None else "", names[0], axis): value
        for row in (cells[at : at + len(names)] for at in range(0, len(cells), len(names)))
        for name, cell in zip(names, row, strict=True)
        if (value := parse_number(cell)) is not None
    }
    return LineValues(int(step), values, labels=section_labels(axis))


def _name(column: str, row: str, corner: str, axis: DialectState) -> str:
    """The name of a number by those of its column and its row, "" without one, and the cell of both names."""
    if _last_word(corner) in _OF_METRICS:
        if _last_word(column) in _OF_VALUES:
            return metric_name(row, evaluated_here(axis))
        data = DATA_SPLIT.fullmatch(column)
        if data is None:
            return f"{row}/{column}"
        return metric_name(row, (data[2] or "").lower())
    if _last_word(corner) in _OF_CLASSES and row:
        return f"{evaluated_here(axis) or 'eval'}/{row}/{column}"
    if (data := DATA_SPLIT.fullmatch(row)) is not None:
        return metric_name(column, (data[2] or "").lower())
    return metric_name(f"{row}/{column}".lstrip("/"), evaluated_here(axis) or "eval")


def _last_word(name: str) -> str:
    return name.lower().rpartition(" ")[2]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _LINE.split(line)[1:-1]]


_BAR = rb"(?:\||\xe2\x94[\x82\x83]|\xe2\x95\x91)"
_CELL = (
    rb"[ \t]{0,30}[a-z](?:[a-z_@() %.-]{0,30}[a-z@_ -]\d{1,3}(?::\d{1,3})?"
    rb"|[a-z_@() %-]{0,30}(?: ?\.\d{1,2})?)[ \t]{0,30}" + _BAR
)
_NUMBER = rb"[ \t]{0,30}-?(?:\d{1,12}(?:\.\d{1,16})?(?:e[+-]\d{1,3})?%?|nan)[ \t]{0,30}" + _BAR
_NAME = rb"[ \t]{0,30}[a-z][^\n|]{0,60}?" + _BAR
_EMPTY = rb"[ \t]{1,60}" + _BAR
SCORE_TABLES = (
    LineKind(
        pattern=LinearPattern(
            rb"(?im)^[^\n|]{0,120}?"
            + _BAR
            + rb"(?:[ \t]{1,60}"
            + _BAR
            + rb")?(?:"
            + _CELL
            + rb"){2,30}[ \t\r]{0,8}$"
        ),
        parse=_names,
        any_program=True,
    ),
    LineKind(
        pattern=LinearPattern(
            rb"(?im)^[^\n|]{0,120}?%s(?:(?:%s)?(?:%s|%s)+)+[ \t\r]{0,8}$" % (_BAR, _NAME, _NUMBER, _EMPTY)
        ),
        parse=_row,
        any_program=True,
    ),
)
"""Lines of names and lines of numbers between vertical lines."""
