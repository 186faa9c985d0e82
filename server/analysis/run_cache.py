"""Runs in memory that grow with what is logged, so that looking at one again reads what is new alone.

How much memory something takes, with everything that it holds.
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

from holter.detectors import IncrementalState
from holter.server.maintenance.horizon import Horizon
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.read.changes_since import ReadPosition, RunChanges
from holter.types import FloatArray, IntArray, Series, SeriesKey

_OF_THE_PROGRAM = (type, ModuleType, FunctionType)
"""What is there once, whoever refers to it."""


def memory_size(thing: object) -> int:
    """Bytes of a thing and of all that it leads to, each once; about a microsecond an object.

    Within some 10 % of what tracemalloc says. What things share counts for each of them.
    """
    seen: set[int] = set()
    waiting, held = [thing], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _OF_THE_PROGRAM):
            continue
        seen.add(id(one))
        held += sys.getsizeof(one)
        # arrays do not tell the collector what they are views of
        waiting += [one.base] if isinstance(one, np.ndarray) else gc.get_referents(one)
    return held


Columns = tuple[IntArray, IntArray, FloatArray, FloatArray]
"""Attempts, steps, times and values."""

_LEAST_ROOM = 64
_GROWN = 1.25
"""By so much a run has grown when it is weighed again."""


class CachedSeries:
    """One series: rows are appended within the room that its arrays have."""

    def __init__(self, key: SeriesKey) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self._columns: Columns = (nothing, nothing.copy(), np.empty(0), np.empty(0))
        self.series = _as_series(key, self._columns, 0)

    def take(self, whole: Series) -> int | None:
        """Be this series instead; the first row that differs from before, None if none does."""
        before = self.series
        self._columns = (whole.attempt, whole.step, whole.time, whole.value)
        self.series = _as_series(whole.key, self._columns, len(whole))
        return _first_other(before, whole)

    def add(self, attempt: int, points: SeriesPoints) -> int | None:
        """Take in points, the newest writes of their steps; the first row that differs from before, None if
        none does."""
        rows, before = len(self.series), self.series
        if not len(points.step):
            return None
        last = (int(before.attempt[-1]), int(before.step[-1])) if rows else (-1, 0)
        if (attempt, int(points.step[0])) > last:
            self._append(attempt, points)
            return None
        first, after = np.searchsorted(before.attempt, (attempt, attempt + 1)).tolist()
        first += int(np.searchsorted(before.step[first:after], points.step[0]))
        among = _among(before, slice(first, after), points)
        attempts = np.full(len(among.step), attempt)
        left, right = slice(0, first), slice(after, rows)
        return self.take(
            Series(
                key=before.key,
                attempt=np.concatenate((before.attempt[left], attempts, before.attempt[right])),
                step=np.concatenate((before.step[left], among.step, before.step[right])),
                time=np.concatenate((before.time[left], among.time, before.time[right])),
                value=np.concatenate((before.value[left], among.value, before.value[right])),
            )
        )

    def _append(self, attempt: int, points: SeriesPoints) -> None:
        rows, more = len(self.series), len(points.step)
        attempt_column, step, time, value = (_with_room(column, rows, more) for column in self._columns)
        attempt_column[rows : rows + more] = attempt
        step[rows : rows + more], time[rows : rows + more], value[rows : rows + more] = points
        self._columns = (attempt_column, step, time, value)
        self.series = _as_series(self.series.key, self._columns, rows + more)


def _with_room(column: NDArray[Any], rows: int, more: int) -> NDArray[Any]:
    """A column that has room for more rows: itself, or a larger copy; rows that were there never change."""
    if column.flags.writeable and rows + more <= len(column):
        return column
    larger = np.empty(max(_LEAST_ROOM, rows + max(more, rows // 4)), dtype=column.dtype)
    larger[:rows] = column[:rows]
    return larger


def _as_series(key: SeriesKey, columns: Columns, rows: int) -> Series:
    attempt, step, time, value = columns
    series = Series(key=key, attempt=attempt[:rows], step=step[:rows], time=time[:rows], value=value[:rows])
    for view in (series.attempt, series.step, series.time, series.value):
        view.flags.writeable = False
    return series


def _among(series: Series, rows: slice, points: SeriesPoints) -> SeriesPoints:
    """Some rows of a series with points among them, which are newer writes."""
    step = np.concatenate((series.step[rows], points.step))
    order = np.argsort(step, kind="stable")
    order = order[np.append(np.diff(step[order]) != 0, True)]
    time = np.concatenate((series.time[rows], points.time))
    value = np.concatenate((series.value[rows], points.value))
    return SeriesPoints(step[order], time[order], value[order])


def _first_other(before: Series, now: Series) -> int | None:
    rows = min(len(before), len(now))
    other = (before.attempt[:rows] != now.attempt[:rows]) | (before.step[:rows] != now.step[:rows])
    # bit by bit: NaN is the same as NaN
    other |= before.value[:rows].view(np.int64) != now.value[:rows].view(np.int64)
    other |= before.time[:rows].view(np.int64) != now.time[:rows].view(np.int64)
    if other.any():
        return int(np.argmax(other))
    return rows if rows < len(before) else None


class CachedRun:
    """The series of a run that were chosen, as of a place in its log, what detectors remember of them,
    what was `said` last, and from where on it was whole then."""

    def __init__(self) -> None:
        self.place: ReadPosition | None = None
        self.memory = IncrementalState()
        self.said: object = None
        self.horizon: Horizon | None = None
        self._series: dict[SeriesKey, CachedSeries] = {}

    @property
    def rows(self) -> int:
        """How many points it has."""
        return sum(len(one.series) for one in self._series.values())

    @property
    def series(self) -> Mapping[SeriesKey, Series]:
        """Every series as it is now."""
        return {key: one.series for key, one in self._series.items()}

    def take(self, news: RunChanges) -> bool:
        """Grow by what has come; whether anything has."""
        if news.whole is None:
            parts = [
                (self._of(key), attempt, points)
                for key, attempts in sorted(news.points.items())
                for attempt, points in attempts.items()
            ]
            changes = [(one, one.add(attempt, points)) for one, attempt, points in parts]
        else:
            changes = [
                (self._of(key), self._of(key).take(whole)) for key, whole in sorted(news.whole.items())
            ]
        for one, row in changes:
            if row is not None:
                self.memory.mark_changed(one.series.key, row)
        self.place = news.place
        return bool(changes)

    def _of(self, key: SeriesKey) -> CachedSeries:
        if key not in self._series:
            self._series[key] = CachedSeries(key)
        return self._series[key]


class RunCache:
    """The runs that were looked at lately, with all that is remembered of them within about so many bytes;
    others are read anew."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._runs: OrderedDict[int, CachedRun] = OrderedDict()
        self._weighed: dict[int, _Measurement] = {}
        self.held = 0  # bytes, about

    def of(self, run_id: int) -> CachedRun:
        """A run as it was last; empty if it had to make room."""
        run = self._runs.pop(run_id, None) or CachedRun()
        self._runs[run_id] = run
        return run

    def looked(self, run_id: int) -> None:
        """A run was looked at: others make room, those first that were not asked for the longest time."""
        run = self._runs[run_id]
        before, rows = self._weighed.get(run_id, _NEVER), run.rows
        # what detectors remember can be many times the points, and takes milliseconds to weigh
        if not before.rows <= rows <= before.rows * _GROWN:
            now = self._weighed[run_id] = _Measurement(rows, memory_size(run))
            self.held += now.size - before.size
        while self.held > self._limit and len(self._runs) > 1:
            self.forget(next(iter(self._runs)))

    def forget(self, run_id: int) -> None:
        """Read this run anew next time."""
        self._runs.pop(run_id, None)
        if (weighed := self._weighed.pop(run_id, None)) is not None:
            self.held -= weighed.size


class _Measurement(NamedTuple):
    rows: int
    size: int


_NEVER = _Measurement(rows=1, size=0)  # and without a row it is weighed, too
