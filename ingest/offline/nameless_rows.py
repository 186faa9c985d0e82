"""Rows of a count with its total and numbers without any name, between lines that have names.

`[20/200]  0.68` below `Epoch 1` and above `test accuracy: 0.71`. For a file that was given by hand: its rows
show that they continue as a training does. They are named after their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.offline.measured_columns import are_curves
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Column, SeriesKey, Unreadable

_NUMBER = r"-?\d{1,9}\.\d{1,20}(?:e[-+]\d\d)?"
_ROW = re.compile(
    r"(?m)^[ \t]{0,8}(?P<count>\[? {0,6}\d{1,9} ?/ ?\d{1,9}\]?[:,]?)[ \t]{1,8}"
    rf"(?P<first>{_NUMBER})(?:[ \t,]{{1,8}}(?P<second>{_NUMBER}))?[ \t\r]*$"
)
_BEGINNING = 2**18
"""Characters of a text among which the first of such rows is."""
_NAMES = {"nameless loss": "column 2", "unnamed loss": "column 3"}
"""What numbers are called while lines are read, since only known metrics are read alone, and afterwards."""


class NamelessRows(WholeFile):
    """Lines of a program with rows of such numbers."""

    name: ClassVar[str] = "nameless-rows"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """What the lines hold, among them such rows; nothing of a text without a curve of them."""
        if _ROW.search(text, 0, _BEGINNING) is None:
            return
        rows = [*_ROW.finditer(text)]
        widths = {row["second"] is None for row in rows}
        if len(widths) == 1 and any(
            are_curves([[row["first"]] for row in part]) for part in (rows, _pass(rows))
        ):
            yield from self._with_places(path, _ROW.sub(_named, text))

    def _with_places(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        for each in self.read_lines(path, text.encode()):
            yield (
                replace(each, columns=tuple(map(_placed, each.columns))) if isinstance(each, Batch) else each
            )


def _pass(rows: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """The rows of the first epoch: those up to the first count that is not beyond the one before."""
    counts = [int(re.findall(r"\d+", row["count"])[0]) for row in rows]
    end = next((at for at, (before, count) in enumerate(pairwise(counts), 1) if count <= before), len(rows))
    return rows[:end]


def _named(row: re.Match[str]) -> str:
    numbers = zip(_NAMES, row.group("first", "second"), strict=True)
    return row["count"] + ", ".join(f" {name}: {number}" for name, number in numbers if number)


def _placed(column: Column) -> Column:
    """The column of a series, named after its place."""
    *data, name = column.key.metric.split("/")
    if name not in _NAMES:
        return column
    return replace(column, key=SeriesKey("/".join((*data, _NAMES[name])), column.key.labels))
