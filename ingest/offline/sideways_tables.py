"""Reads tables that lie on their side: each line has the name of a metric and its values of all epochs.

`train_loss,1.9,1.5,1.2`, with or without a line of the epochs above. For a file that was given by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest import step_columns
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import is_number
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_LEAST_VALUES = 3
_LEAST_WITHOUT_DELIMITERS = 5
"""Values between blanks: fewer may be anything."""
_MOST_LINES = 100
_NAME = re.compile(r"[\w.@/()%-]{1,60}(?: [\w.@/()%-]{1,40}){0,5}")
_BLANKS = re.compile(r"[:=]?(?<![ \t])[ \t]{1,40}(?=[-+.\d]|nan)")
_COUNT = re.compile(r"(?i)(?:(?:epoch|step|iter(?:ation)?|ep|round)[ _:-]?)?(\d{1,12})(?:\.0)?")
Line = list[str]


class SidewaysTables(WholeFile):
    """Tables whose columns are the epochs."""

    name: ClassVar[str] = "sideways-tables"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The values of each epoch; nothing of other texts."""
        lines = [line for line in text.splitlines() if line.strip()]
        for delimiter in (",", ";", "\t", " "):
            if len(lines) <= _MOST_LINES and (rows := _rows(_cells(lines, delimiter), delimiter)):
                yield batch_from_rows(rows)
                return


def _cells(lines: Sequence[str], delimiter: str) -> list[Line]:
    if delimiter == " ":
        return [_BLANKS.split(line.strip()) for line in lines]
    return [[cell.strip(' "') for cell in line.rstrip(delimiter).split(delimiter)] for line in lines]


def _rows(table: Sequence[Line], delimiter: str) -> list[LogRow]:
    """The values of a table by their columns, if all of its lines but a first one are of metrics."""
    least = _LEAST_WITHOUT_DELIMITERS if delimiter == " " else _LEAST_VALUES
    if not table or len(table[0]) <= least or len({*map(len, table)}) > 1:
        return []
    steps, rest = _header(table)
    names = [line[0] for line in rest]
    if not any(map(is_metric_name, names)) or len({*names}) < len(names):
        return []
    if not all(_NAME.fullmatch(name) and not is_number(name) for name in names):
        return []
    if not all(is_number(cell) or step_columns.is_empty_cell(cell) for line in rest for cell in line[1:]):
        return []
    if sum(map(is_metric_name, names)) * 2 < len(names):
        return []
    return [
        LogRow(step, nan, {line[0]: float(line[at]) for line in rest if is_number(line[at])})
        for at, step in enumerate(steps, 1)
    ]


def _header(table: Sequence[Line]) -> tuple[Sequence[int], Sequence[Line]]:
    """The steps of the columns, and the other lines; places where no line counts.

    A line of places, as pandas writes it, may be above the line that counts.
    """
    steps: Sequence[int] = range(len(table[0]) - 1)
    rest = list(table)
    for _ in range(2):
        found = [_COUNT.fullmatch(cell) for cell in rest[0][1:]] if rest else []
        counts = [int(match[1]) for match in found if match is not None]
        is_named = bool(rest) and is_metric_name(rest[0][0])
        if is_named or not counts or len(counts) < len(found):
            break
        if not all(before < after for before, after in pairwise(counts)):
            break
        steps = counts
        del rest[0]
    return steps, rest
