"""Rows of numbers without a header below each epoch, with a name: `| cat | 0.9 | 0.1 |`.

For a file that was given by hand, all of whose epochs have the same rows: their numbers are measured. They
are named after their row and place, `cat` and `cat 2`, if no other lines have these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.text.values import parse_number
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_EPOCH = re.compile(r"(?i)[^\w\n]{0,20}epoch[ :=#\[]{0,4}(?P<epoch>\d{1,9})\b")
_NUMBER = r"[ \t]{0,20}[-+]?\d{1,9}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?%?[ \t]{0,20}\|"
_ROW = re.compile(
    r"(?im)^[ \t]{0,20}\|[ \t]{0,20}(?P<name>[a-z][^|\n]{0,60}?)[ \t]{0,20}\|"
    rf"(?P<numbers>(?:{_NUMBER}){{1,16}})[ \t\r]{{0,8}}$"
)
_LEAST_EPOCHS = 2


class RowsBelowEpochs(WholeFile):
    """Lines of a program with such rows between them."""

    name: ClassVar[str] = "rows-below-epochs"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """What the lines hold, and such rows at their epochs; nothing of a text without these."""
        rows = _rows(text.splitlines()) if _ROW.search(text) is not None else []
        epochs = [row.step for row in rows]
        if len(rows) < _LEAST_EPOCHS or sorted({*epochs}) != epochs or len({*map(_names, rows)}) > 1:
            return
        found = [*self.read_lines(path, text.encode())]
        batches = [each for each in found if isinstance(each, Batch)]
        steps = [step for each in batches for step in each.steps.tolist()]
        known = {column.key.metric.rpartition("/")[2].lower() for each in batches for column in each.columns}
        is_new = known.isdisjoint(name.lower() for name in _names(rows[0]))
        if is_new and max(steps, default=0) <= epochs[-1]:  # else lines count batches
            yield from found
            yield batch_from_rows(rows)


def _names(row: LogRow) -> tuple[str, ...]:
    return tuple(row.values)


def _rows(lines: Sequence[str]) -> list[LogRow]:
    """The numbers of the rows below each epoch; nothing of a text with other rows, such as headers."""
    rows: list[LogRow] = []
    epoch = -1
    for line in lines:
        if (heading := _EPOCH.match(line)) is not None:
            epoch = int(heading["epoch"])
        elif line.lstrip()[:1] == "|":
            if (row := _ROW.match(line)) is None or epoch < 0:
                return []
            if not rows or rows[-1].step != epoch:
                rows.append(LogRow(epoch, nan, {}))
            numbers = [*map(parse_number, row["numbers"].split("|")[:-1])]
            named = (row["name"] + f" {place}" * (place > 1) for place in range(1, len(numbers) + 1))
            values = {name: value for name, value in zip(named, numbers, strict=True) if value is not None}
            rows[-1] = rows[-1]._replace(values={**rows[-1].values, **values})
    return rows
