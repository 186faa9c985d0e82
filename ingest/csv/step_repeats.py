"""Labels rows of a CSV log that have other values at the step of the row above, as those of printed lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import nan
from typing import Any, NamedTuple

import numpy as np

from holter.ingest.console.line.evaluation_names import metric_name
from holter.ingest.console.writers.repeated_rows import RepeatedRows
from holter.ingest.rows import LogRow
from holter.types import FloatArray, IntArray, Labels

_MOST_STORED = 4096
"""Values of the last step of a block with which the next block is compared."""


class CsvCells(NamedTuple):
    """The numbers of one column: `values[i]` is in row `rows[i]`; None if every row has a value."""

    name: str
    values: FloatArray
    rows: IntArray | None


class RowSeries(NamedTuple):
    """Which series a row belongs to: the data of an evaluation, "" of the training, and labels."""

    data: str
    labels: Labels


_OF_TRAINING = RowSeries("", ())


class StepRepeats:
    """Compares the rows of each step with one another, also where a block of lines ends between them."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._rows = RepeatedRows(state.get("rows", ()))
        self._last: list[Any] | None = state.get("last")
        """The last step and the attempt that its row names."""

    def state(self) -> dict[str, Any]:
        """The rows of the last step, as JSON-able values; empty before the first row."""
        return {} if self._last is None else {"rows": self._rows.state(), "last": self._last}

    def series(
        self,
        steps: IntArray,
        attempts: Sequence[str] | None,
        series: list[RowSeries] | None,
        columns: Sequence[CsvCells],
    ) -> list[RowSeries] | None:
        """The series of each row, with a label where another row of its step has the same ones."""
        if not len(steps):
            return series
        is_next = steps[1:] != steps[:-1]
        if attempts is not None:
            is_next |= np.array([after != before for before, after in pairwise(attempts)], dtype=np.bool_)
        runs = np.concatenate(([0], np.cumsum(is_next)))
        continues = self._last == [int(steps[0]), attempts and attempts[0]]
        wanted = _runs_with_repeats(runs, series)
        wanted[-1] = True
        wanted[0] |= continues
        indices = np.flatnonzero(wanted[runs])
        if not continues:
            self._rows.forget()
        repeated: dict[int, RowSeries] = {}
        before = 0
        for index, row in zip(indices.tolist(), _rows(indices, steps, series, columns), strict=True):
            if runs[index] != before:
                self._rows.forget()
                before = runs[index]
            [found] = self._rows.labelled([row])
            if found is not row:
                repeated[index] = RowSeries("" if series is None else series[index].data, found.labels)
        self._last = [int(steps[-1]), attempts and attempts[-1]]
        if len(columns) * int(np.sum(runs == runs[-1])) > _MOST_STORED:
            self._rows.forget()
        if not repeated:
            return series
        each = series or [_OF_TRAINING] * len(steps)
        return [repeated.get(index, own) for index, own in enumerate(each)]


def _runs_with_repeats(runs: IntArray, series: Sequence[RowSeries] | None) -> np.ndarray[Any, Any]:
    """Which runs of rows of one step have several of the same series."""
    if series is None:
        return np.bincount(runs) > 1
    codes: dict[RowSeries, int] = {}
    code = np.array([codes.setdefault(each, len(codes)) for each in series], dtype=np.int64)
    pairs, counts = np.unique(runs * len(codes) + code, return_counts=True)
    wanted = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    wanted[pairs[counts > 1] // len(codes)] = True
    return wanted


def _rows(
    indices: IntArray, steps: IntArray, series: Sequence[RowSeries] | None, columns: Sequence[CsvCells]
) -> list[LogRow]:
    """The rows of these indices by themselves."""
    values: list[dict[str, float]] = [{} for _ in indices]
    for cells in columns:
        at = indices if cells.rows is None else np.searchsorted(cells.rows, indices)
        for number, place in enumerate(at.tolist()):
            if cells.rows is None or (place < len(cells.rows) and cells.rows[place] == indices[number]):
                values[number][cells.name] = float(cells.values[place])
    rows = []
    for index, found in zip(indices.tolist(), values, strict=True):
        data, labels = _OF_TRAINING if series is None else series[index]
        named = {metric_name(name, data): value for name, value in found.items()}
        rows.append(LogRow(int(steps[index]), nan, named, labels))
    return rows
