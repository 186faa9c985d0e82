"""Rows of a table without a header below each epoch, each with the name of what it is of: `| cat | 0.9 | 0.1 |`.

For a file that was given by hand, whose epochs have the same rows again and again: so their numbers are
measurements. They are named after their row and place: `cat`, `cat 2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import nan
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.console.values import parse_number
from holter.ingest.offline.whole_file import WholeFile
from holter.ingest.rows import LogRow, batch_from_rows
from holter.types import Batch, Unreadable

_EPOCH = re.compile(r"(?im)^[^\w\n]{0,20}epoch[ :=#]{0,4}(\d{1,9})\b[^\n]{0,200}$")
_NUMBER = r"[ \t]{0,20}[-+]?\d{1,9}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?%?[ \t]{0,20}\|"
_ROW = re.compile(
    rf"(?im)^[ \t]{{0,20}}\|[ \t]{{0,20}}(?P<name>[a-z][^|\n]{{0,60}}?)[ \t]{{0,20}}\|(?P<numbers>(?:{_NUMBER}){{1,16}})[ \t\r]{{0,8}}$"
)
_LEAST_EPOCHS = 2


class RowsBelowEpochs(WholeFile):
    """Lines of a program with such rows between them."""

    name: ClassVar[str] = "rows-below-epochs"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """What the lines hold, and such rows at their epochs; nothing of a text without these."""
        rows = _rows(text)
        epochs = {epoch for epoch, _ in rows}
        names = {name for _, values in rows for name in values}
        if (
            len(epochs) < _LEAST_EPOCHS
            or len(epochs) < len(rows)
            or any({*values} != names for _, values in rows)
        ):
            return
        yield batch_from_rows([LogRow(epoch, nan, values) for epoch, values in rows])


def _rows(text: str) -> list[tuple[int, dict[str, float]]]:
    """The epochs with rows below them, and the numbers of each."""
    if _ROW.search(text) is None:
        return []
