"""Copies of runs in memory, updated incrementally, so that a pass reads only new points.

As detectors expect, they have one point for each step of an attempt, the last one.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.attempts.step_values import last_indices, last_of_each_step, time_order
from holter.detectors import IncrementalState
from holter.server.maintenance.horizon import DownsamplingHorizon
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.changes_since import ReadPosition, RunChanges
from holter.types import FloatArray, IntArray, Series, SeriesKey

Columns = tuple[IntArray, IntArray, FloatArray, FloatArray]
"""Attempts, steps, times and values."""

_MIN_CAPACITY = 64
_GROWTH = 1.25
"""Factor by which a run has grown in rows when its size in memory is measured again."""
_SHARED_TYPES = (type, ModuleType, FunctionType)
"""Objects of these types exist once in the program and do not count for those that refer to them."""


class CachedSeries:
    """One series, whose arrays have spare capacity, so that appending rows rarely copies them."""

    def __init__(self, key: SeriesKey) -> None:
        empty = np.empty(0, dtype=np.int64)
        self._columns: Columns = (empty, empty.copy(), np.empty(0), np.empty(0))
        self.series = _as_series(key, self._columns, 0)

    def replace(self, series: Series) -> int | None:
        """Replace all rows; returns the first row that differs, None if none does."""
        before, series = self.series, last_of_each_step(series)
        self._columns = (series.attempt, series.step, series.time, series.value)
        self.series = _as_series(series.key, self._columns, len(series))
        return _first_difference(before, series)

    def merge(self, attempt: int, points: SeriesPoints) -> int | None:
        """Add points, the last of each step counts; returns the first row that differs, None if none does.

        Rows that are only appended do not count as different.
        """
        rows, before = len(self.series), self.series
        if not len(points.step):
            return None
        last_points = last_indices(np.zeros_like(points.step), points.step)
        if last_points is not None:
            points = SeriesPoints._make(column[last_points] for column in points)
        last = (int(before.attempt[-1]), int(before.step[-1])) if rows else (-1, 0)
        if (attempt, int(points.step[0])) > last:
            self._append(attempt, points)
            return None
        first, after = np.searchsorted(before.attempt, (attempt, attempt + 1)).tolist()
        first += int(np.searchsorted(before.step[first:after], points.step[0]))
        merged = _merge_rows(before, slice(first, after), points)
        attempts = np.full(len(merged.step), attempt)
        left, right = slice(0, first), slice(after, rows)
        return self.replace(
            Series(
                key=before.key,
                attempt=np.concatenate((before.attempt[left], attempts, before.attempt[right])),
                step=np.concatenate((before.step[left], merged.step, before.step[right])),
                time=np.concatenate((before.time[left], merged.time, before.time[right])),
                value=np.concatenate((before.value[left], merged.value, before.value[right])),
            )
        )

    def _append(self, attempt: int, points: SeriesPoints) -> None:
        rows, added = len(self.series), len(points.step)
        attempt_column, step, time, value = (_with_capacity(column, rows, added) for column in self._columns)
        attempt_column[rows : rows + added] = attempt
        step[rows : rows + added], time[rows : rows + added], value[rows : rows + added] = points
        self._columns = (attempt_column, step, time, value)
        self.series = _as_series(self.series.key, self._columns, rows + added)


def _with_capacity(column: NDArray[Any], rows: int, added: int) -> NDArray[Any]:
    """A column with capacity for more rows: itself, or a larger copy. Existing rows never change."""
    if column.flags.writeable and rows + added <= len(column):
        return column
    larger = np.empty(max(_MIN_CAPACITY, rows + max(added, rows // 4)), dtype=column.dtype)
    larger[:rows] = column[:rows]
    return larger


def _as_series(key: SeriesKey, columns: Columns, rows: int) -> Series:
    attempt, step, time, value = columns
    series = Series(key=key, attempt=attempt[:rows], step=step[:rows], time=time[:rows], value=value[:rows])
    for view in (series.attempt, series.step, series.time, series.value):
        view.flags.writeable = False
    return series


def _merge_rows(series: Series, rows: slice, points: SeriesPoints) -> SeriesPoints:
    """Some rows of a series merged with points: the last of each step, by time, then as written."""
    step = np.concatenate((series.step[rows], points.step))
    time = np.concatenate((series.time[rows], points.time))
    order = np.lexsort((time_order(time), step))
    order = order[np.append(np.diff(step[order]) != 0, True)]
    value = np.concatenate((series.value[rows], points.value))
    return SeriesPoints(step[order], time[order], value[order])


def _first_difference(before: Series, now: Series) -> int | None:
    rows = min(len(before), len(now))
    other = (before.attempt[:rows] != now.attempt[:rows]) | (before.step[:rows] != now.step[:rows])
    # compared bit by bit, since NaN must equal NaN
    other |= before.value[:rows].view(np.int64) != now.value[:rows].view(np.int64)
    other |= before.time[:rows].view(np.int64) != now.time[:rows].view(np.int64)
    if other.any():
        return int(np.argmax(other))
    return rows if rows < len(before) else None


class CachedRun:
    """The analyzed series of a run up to a position in its log, and the state of its last analysis.

    `detector_state`: the detectors' incremental state; `last_result`: what the last pass passed on to the
    incidents; `horizon`: from where on the run had all of its points then.
    """

    def __init__(self) -> None:
        self.position: ReadPosition | None = None
        self.detector_state = IncrementalState()
        self.last_result: object = None
        self.horizon: DownsamplingHorizon | None = None
        self._series: dict[SeriesKey, CachedSeries] = {}

    @property
    def rows(self) -> int:
        """How many points it has."""
        return sum(len(cached.series) for cached in self._series.values())

    @property
    def series(self) -> Mapping[SeriesKey, Series]:
        """All series as they are now."""
        return {key: cached.series for key, cached in self._series.items()}

    def update(self, changes: RunChanges) -> bool:
        """Add changes of the store; whether there were any."""
        if changes.full is None:
            updates = [
                (cached, cached.merge(attempt, points))
                for key, attempts in sorted(changes.points.items())
                for cached in (self._cached(key),)
                for attempt, points in attempts.items()
            ]
        else:
            updates = [
                (cached, cached.replace(series))
                for key, series in sorted(changes.full.items())
                for cached in (self._cached(key),)
            ]
        for cached, row in updates:
            if row is not None:
                self.detector_state.mark_changed(cached.series.key, row)
        self.position = changes.position
        return bool(updates)

    def _cached(self, key: SeriesKey) -> CachedSeries:
        if key not in self._series:
            self._series[key] = CachedSeries(key)
        return self._series[key]


class RunCache:
    """The most recently analyzed runs, within about `limit` bytes; others are read again in full."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._runs: OrderedDict[int, CachedRun] = OrderedDict()
        self._measured: dict[int, _Measurement] = {}
        self.size = 0  # bytes, approximately

    def get(self, run_id: int) -> CachedRun:
        """A run as it was last; an empty one if it is not cached."""
        run = self._runs.pop(run_id, None) or CachedRun()
        self._runs[run_id] = run
        return run

    def measure(self, run_id: int) -> None:
        """Measure a run after its analysis and evict others, the least recently used first."""
        run = self._runs[run_id]
        before, rows = self._measured.get(run_id, _UNMEASURED), run.rows
        # the detectors' state can be many times the points, and takes milliseconds to measure
        if not before.rows <= rows <= before.rows * _GROWTH:
            now = self._measured[run_id] = _Measurement(rows, memory_size(run))
            self.size += now.size - before.size
        while self.size > self._limit and len(self._runs) > 1:
            self.forget(next(iter(self._runs)))

    def forget(self, run_id: int) -> None:
        """Evict a run: the next pass reads it in full."""
        self._runs.pop(run_id, None)
        if (measured := self._measured.pop(run_id, None)) is not None:
            self.size -= measured.size


class _Measurement(NamedTuple):
    rows: int
    size: int


_UNMEASURED = _Measurement(rows=1, size=0)  # 1, so that a run without rows is measured, too


def memory_size(root: object) -> int:
    """Bytes of an object and of all objects that it refers to, each once; takes about 1 us per object.

    Within some 10 % of tracemalloc's figure. Objects that several roots share count for each of them.
    """
    seen: set[int] = set()
    pending, size = [root], 0
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, _SHARED_TYPES):
            continue
        seen.add(id(item))
        size += sys.getsizeof(item)
        # arrays do not report the array that they are a view of to the garbage collector
        pending += [item.base] if isinstance(item, np.ndarray) else gc.get_referents(item)
    return size
