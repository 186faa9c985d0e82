"""Rows of a batch: which series has a value in each, and where the steps of one go back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.attempts.writers import NO_STEP, SeriesProgress, WriterState
from holter.types import Batch, DenseColumns, FloatArray, IntArray, SeriesKey

_NO_ROWS = np.empty(0, dtype=np.int64)


class BatchRow(NamedTuple):
    """One row: step, wall time, the tracked series in it, and whether it is marked as a new launch."""

    step: int
    time: float
    keys: list[SeriesKey]
    restarts: bool = False


class BatchRows:
    """The rows of a batch, with those at which each tracked series has a value.

    `row_indices` has the rows of each series, None where it has a value at every row.
    """

    def __init__(self, batch: Batch, wanted: Mapping[SeriesKey, SeriesProgress]) -> None:
        self.steps: IntArray = batch.steps
        self.times: FloatArray = batch.times
        self.row_indices: dict[SeriesKey, IntArray | None]
        if isinstance(batch.columns, DenseColumns):
            self.row_indices = dict.fromkeys(key for key in wanted if key in batch.columns.layout.index)
        else:
            self.row_indices = {column.key: column.rows for column in batch.columns if column.key in wanted}
        self.rising = bool(np.all(batch.steps[1:] >= batch.steps[:-1]))
        self._columns = batch.columns

    def row(self, row: int, *, restarts: bool = False) -> BatchRow:
        """The row of this index."""
        keys = [
            key for key in self.row_indices if self.values_before(key, row) < self.values_before(key, row + 1)
        ]
        return BatchRow(int(self.steps[row]), float(self.times[row]), keys, restarts)

    def values_before(self, key: SeriesKey, row: int) -> int:
        """The number of the series' values before a row."""
        rows = self.row_indices[key]
        return row if rows is None else int(np.searchsorted(rows, row))

    def values_before_rows(self, key: SeriesKey, rows: IntArray) -> IntArray:
        """The number of the series' values before each of these rows."""
        series_rows = self.row_indices.get(key, _NO_ROWS)
        return rows if series_rows is None else np.searchsorted(series_rows, rows).astype(np.int64)

    def rows_of_series(self, key: SeriesKey, start: int, stop: int) -> IntArray:
        """The rows of the series within [start, stop)."""
        rows = self.row_indices[key]
        if rows is None:
            return np.arange(start, stop, dtype=np.int64)
        return rows[self.values_before(key, start) : self.values_before(key, stop)]

    def first_row_of(self, keys: Iterable[SeriesKey], start: int, stop: int) -> int | None:
        """The first row in [start, stop) at which one of these series has a value."""
        of_each = [self.rows_of_series(key, start, stop) for key in keys if key in self.row_indices]
        first = [rows[0] for rows in of_each if len(rows)]
        return int(min(first)) if first else None

    def record(self, writer: WriterState, start: int, stop: int) -> None:
        """Record rows [start, stop) in the writer's progress."""
        if start == stop:
            return
        extent = _extent(self.steps[start:stop], self.times[start:stop])
        for key, indices in self.row_indices.items():
            if indices is None:
                writer.series[key].record(stop - start, *extent)
            elif len(rows := self.rows_of_series(key, start, stop)):
                writer.series[key].record(len(rows), *_extent(self.steps[rows], self.times[rows]))
        if writer.undecided:
            training_rows = int(np.count_nonzero(self._is_training_row()[start:stop]))
            writer.undecided = max(0, writer.undecided - training_rows)

    def row_after_training_rows(self, start: int, count: int) -> int:
        """The row after the next `count` rows of training."""
        return start + int(np.searchsorted(np.cumsum(self._is_training_row()[start:]), count)) + 1

    def first_training_row(self) -> int | None:
        """The first row of training, which therefore belongs to an attempt; None without any."""
        is_training = self._is_training_row()
        return int(np.argmax(is_training)) if is_training.any() else None

    def _is_training_row(self) -> NDArray[np.bool_]:
        """Which rows [n] have a value of a series that counts training steps, not steps of its own."""
        if isinstance(self._columns, DenseColumns):
            keys = self._columns.layout.keys
            return np.full(len(self.steps), any(key.step_unit is None for key in keys))
        is_training = np.zeros(len(self.steps), dtype=np.bool_)
        for column in self._columns:
            if column.key.step_unit is None:
                is_training[slice(None) if column.rows is None else column.rows] = True
        return is_training

    def _second_step(self, key: SeriesKey, progress: SeriesProgress, start: int) -> int:
        """The first row from `start` on at which a series that was at one step so far is at another.

        Until then it tells no time: an evaluation for each of many classes has more values than the training.
        """
        if key not in self.row_indices:
            return len(self.steps)
        rows = self.rows_of_series(key, start, len(self.steps))
        first = progress.step if progress.count else self.steps[rows[:1]]
        others = np.flatnonzero(self.steps[rows] != first)
        return int(rows[others[0]]) if len(others) else len(self.steps)

    def first_regression(self, writer: WriterState, start: int, stop: int) -> int | None:
        """The first row in [start, stop) at which a clock series goes back, other than by late delivery.

        Series that stay at one step are no clock, however many values they have.
        """
        progress = writer.series
        highest = max((progress[key].step for key in self.row_indices), default=NO_STEP)
        if self.rising and self.steps[start] >= highest:
            return None
        base = {
            key: progress[key].count - (self.values_before(key, start) if key in self.row_indices else 0)
            for key in progress
        }
        first = stop
        for key in self.row_indices:
            rows = self.rows_of_series(key, start, stop)
            back = rows[_goes_back(progress[key], self.steps[rows], self.times[rows])]
            if len(back):
                counts = {other: base[other] + self.values_before_rows(other, back) for other in progress}
                for other in counts.keys() - {key}:
                    if progress[other].low >= progress[other].step:
                        second = self._second_step(other, progress[other], start)
                        counts[other] = counts[other] * (back > second)
                clock = back[2 * counts[key] >= np.max(list(counts.values()), axis=0)]
                first = min(first, int(clock[0])) if len(clock) else first
        return first if first < stop else None


def _goes_back(progress: SeriesProgress, steps: IntArray, times: FloatArray) -> NDArray[np.bool_]:
    """Where a series' step is below an earlier one although its wall time is not (no late delivery)."""
    highest = np.maximum.accumulate(np.concatenate(([progress.step], steps)))[:-1]
    latest = np.fmax.accumulate(np.concatenate(([progress.last], times)))[:-1]
    return np.asarray((steps < highest) & ~(times < latest))


def _extent(steps: IntArray, times: FloatArray) -> tuple[int, int, float, float]:
    """The lowest and the highest step, the first known wall time, and the latest."""
    known = times[~np.isnan(times)]
    return (
        int(steps.min()),
        int(steps.max()),
        *((float(known[0]), float(known.max())) if len(known) else (nan, nan)),
    )
