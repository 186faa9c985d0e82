"""Columns of a CSV log that have one cell through a training and another one through the next, of any name.

`activation,epoch,loss`: a column of texts, or of a setting, tells trainings apart if all rows up to that at
which the steps begin anew have the same cell, and that one has another. What changes within a training does
not, nor does a date or a time: each launch has another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from holter.ingest.console.tables.row_subjects import subject_cell
from holter.ingest.step_columns import is_setting
from holter.types import IntArray

_LEAST_ROWS = 2
_TEXT = re.compile(r"(?i)(?!(?:[-+]?(?:nan|inf(?:inity)?)|true|false)$)(?:[^\W\d_]|.*[^\W\d_]{2})")
"""A cell that is no number, and not yes or no."""
_DATE = re.compile(r"\d\d:\d\d|\d{4}[-/_]?\d\d[-/_]?\d\d|\d\d[-/]\d\d[-/]\d\d")


class NextTraining(NamedTuple):
    """The last step before a training that begins, the columns that differ, and their cells before."""

    last: int
    columns: list[int]
    cells: list[str]


class ConstantColumns:
    """The columns of a table that have had the same cell so far.

    `names` has their names; with `texts_alone` no settings that are numbers.
    """

    def __init__(self, names: Mapping[int, str], state: Mapping[str, Any], *, texts_alone: bool) -> None:
        self._names = names
        self._texts_alone = texts_alone
        self._cells: dict[int, str] | None = None
        if "cells" in state:
            self._cells = {int(index): cell for index, cell in state["cells"].items()}
        self._rows, self._first, self._last = state.get("at", (0, 0, 0))

    def state(self) -> dict[str, Any]:
        """What later rows are compared with, as JSON-able values."""
        return (
            {} if self._cells is None else {"cells": self._cells, "at": [self._rows, self._first, self._last]}
        )

    def spans(self, cells: Sequence[Sequence[str]], steps: IntArray) -> list[tuple[int, int]]:
        """The spans of rows within which the steps do not go back; one span if no column is left."""
        if self._cells is None:
            firsts = {index: subject_cell(cells[index][0]) for index in self._names}
            self._cells = {index: cell for index, cell in firsts.items() if self._may_be_subject(index, cell)}
            self._first = self._last = int(steps[0])
        if not self._cells:
            return [(0, len(steps))]
        back = np.flatnonzero(np.diff(steps, prepend=self._last) < 0).tolist()
        return [*pairwise((0, *(row for row in back if row), len(steps)))]

    def next_training(self, row: int, cells: Sequence[Sequence[str]], step: int) -> NextTraining | None:
        """The training that begins with a row at a step, if another one was before it and a cell differs."""
        known = self._cells or {}
        if step > self._first or step >= self._last or self._rows < _LEAST_ROWS:
            return None
        columns = [
            index for index, cell in known.items() if subject_cell(cells[index][row]) not in ("", cell)
        ]
        return NextTraining(self._last, columns, [known[index] for index in columns]) if columns else None

    def add_rows(self, begin: int, end: int, cells: Sequence[Sequence[str]], steps: IntArray) -> None:
        """Compare some rows with those before."""
        self._compare(cells, begin, end)
        self._rows, self._last = self._rows + end - begin, int(steps[end - 1])

    def forget(self, columns: Iterable[int]) -> None:
        """Forget columns that distinguish trainings from now on."""
        for index in columns:
            (self._cells or {}).pop(index, None)

    def _compare(self, cells: Sequence[Sequence[str]], begin: int, end: int) -> None:
        """Forget the columns in which one of some rows has another cell."""
        known = self._cells or {}
        self._cells = {
            index: cell
            for index, cell in known.items()
            if all(subject_cell(other) == cell for other in {*cells[index][begin:end]})
        }

    def _may_be_subject(self, index: int, cell: str) -> bool:
        """Whether a column with this first cell may tell trainings apart."""
        if not cell or _DATE.search(cell) is not None:
            return False
        return _TEXT.match(cell) is not None or (not self._texts_alone and is_setting(self._names[index]))


def names_of_columns(header: Sequence[str], taken: Iterable[int]) -> dict[int, str]:
    """The names of the columns that may tell trainings apart, by their indices."""
    return {index: name for index, name in enumerate(header) if name.strip() and index not in {*taken}}
