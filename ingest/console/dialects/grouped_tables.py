"""Tables with several names and numbers between vertical lines: the groups of training and validation.

`lr   iter   epoch  | loss   top-1  | loss   top-1  |` above `0.1   0.0   0.0  | 0.52   80.3  | 0.6  66.6  |`.
A line above the names may name the groups: `|---- VALID ----|---- TRAIN ----|`.
"""

from __future__ import annotations

import re

from holter.ingest.console.dialect import ConsoleDialect, DialectState, LineKind, LineValues
from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.console.text.values import parse_number
from holter.ingest.metric_names import is_metric_name

_AXES = ("global_step", "step", "iter", "iteration", "epoch", "ep")
"""Names of columns that count, the most reliable axis first."""
_MAX_COLUMNS = 64
_LINES = re.compile("[|│]")


def _groups(line: str, state: DialectState) -> None:
    """Note the names of the groups of the table below."""
    state["groups"] = [cell.strip(" -=") for cell in _LINES.split(line)[1:]][:_MAX_COLUMNS]


def _names(line: str, state: DialectState) -> None:
    """Note the names of the columns of each group."""
    groups = ["", *state.pop("groups", [])]
    cells = [_tokens(cell) for cell in _LINES.split(line.rstrip(" |│"))]
    names = [
        [_in_group(name, groups[index] if index < len(groups) else "") for name in cell]
        for index, cell in enumerate(cells)
    ]
    flat = [name for cell in names for name in cell]
    is_table = len(flat) <= _MAX_COLUMNS and any(map(is_metric_name, flat))
    state["columns of groups"] = names if is_table else []


def _in_group(name: str, group: str) -> str:
    return f"{group.lower()}/{name}" if DATA_SPLIT.fullmatch(group) else name


def _tokens(cell: str) -> list[str]:
    return [token for token in re.split(r"\s{2,}|\t", cell.strip()) if token]


def _row(line: str, state: DialectState) -> LineValues | None:
    """The numbers of a row at its step; a group with as many numbers as names is read."""
    names: list[list[str]] = state.get("columns of groups", [])
    cells = [cell.split() for cell in _LINES.split(line.rstrip(" |│"))]
    if not names or len(cells) != len(names):
        return None
    values = {
        name: value
        for group, numbers in zip(names, cells, strict=True)
        if len(group) == len(numbers)
        for name, text in zip(group, numbers, strict=True)
        if (value := parse_number(text)) is not None
    }
    counted = {name: values.pop(name) for name in [*values] if name.lower() in _AXES}
    by_axis = {name.lower(): value for name, value in counted.items() if value.is_integer()}
    step = next((by_axis[axis] for axis in _AXES if axis in by_axis), None)
    return None if step is None or not values else LineValues(int(step), values)


_LINE = rb"(?:\||\xe2\x94\x82)"
_HEADING = (
    rb"(?im)^[ \t]{0,8}(?:[a-z][\w-]{0,20}[ \t]{2,20}){0,3}(?:global_step|step|iter(?:ation)?|epoch|ep)"
    rb"[ \t]{1,20}" + _LINE
)
DIALECT = ConsoleDialect(
    name="grouped-table",
    signature=re.compile(_HEADING + rb"[^\n|]{0,80}(?:loss|acc|error|score|auc)[^\n]{0,200}" + _LINE),
    kinds=(
        LineKind(
            pattern=re.compile(rb"(?m)^[ \t]{0,80}\|-{2,80} [A-Za-z][^\n]{0,200}-\|[^\n]{0,80}$"),
            parse=_groups,
        ),
        LineKind(pattern=re.compile(_HEADING + rb"[^\n]{0,300}$"), parse=_names),
        LineKind(
            pattern=re.compile(rb"(?m)^[ \t]{0,8}\d[-+\d.e \t]{0,80}" + _LINE + rb"[^\n]{0,300}$"), parse=_row
        ),
    ),
)
