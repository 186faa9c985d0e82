"""Rows of a batch as they tell of attempts: which series each holds, and where one of them goes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.attempts.writers import NO_STEP, Track, Writer
from holter.types import Batch, DenseColumns, FloatArray, IntArray, SeriesKey

_NOWHERE = np.empty(0, dtype=np.int64)


class Row(NamedTuple):
    step: int
    time: float
    keys: list[SeriesKey]
    restarts: bool = False


class Rows:
    """The rows of a batch, with those at which each remembered series has a value."""

    def __init__(self, batch: Batch, wanted: Mapping[SeriesKey, Track]) -> None:
        self.steps: IntArray = batch.steps
        self.times: FloatArray = batch.times
        self.at: dict[SeriesKey, IntArray | None]
        if isinstance(batch.columns, DenseColumns):
            self.at = dict.fromkeys(key for key in wanted if key in batch.columns.shape.index)
        else:
            self.at = {column.key: column.rows for column in batch.columns if column.key in wanted}
        self.rising = bool(np.all(batch.steps[1:] >= batch.steps[:-1]))
        self._columns = batch.columns

    def row(self, row: int, *, restarts: bool = False) -> Row:
        keys = [key for key in self.at if self.place(key, row) < self.place(key, row + 1)]
        return Row(int(self.steps[row]), float(self.times[row]), keys, restarts)

    def place(self, key: SeriesKey, row: int) -> int:
        """How many of the series' values stand before the row."""
        rows = self.at[key]
        return row if rows is None else int(np.searchsorted(rows, row))

    def before(self, key: SeriesKey, rows: IntArray) -> IntArray:
        """How many of the series' values stand before each of these rows."""
        held = self.at.get(key, _NOWHERE)
        return rows if held is None else np.searchsorted(held, rows).astype(np.int64)

    def between(self, key: SeriesKey, start: int, stop: int) -> IntArray:
        """The rows of the series within [start, stop)."""
        rows = self.at[key]
        if rows is None:
            return np.arange(start, stop, dtype=np.int64)
        return rows[self.place(key, start) : self.place(key, stop)]

    def first(self, keys: Iterable[SeriesKey], start: int, stop: int) -> int | None:
        """The first row in [start, stop) at which one of these series has a value."""
        rows = [held[0] for key in keys if key in self.at and len(held := self.between(key, start, stop))]
        return int(min(rows)) if rows else None

    def show(self, writer: Writer, start: int, stop: int) -> None:
        """Let the writer's tracks take in rows [start, stop)."""
        if start == stop:
            return
        everywhere = _extent(self.steps[start:stop], self.times[start:stop])
        for key, rows in self.at.items():
            if rows is None:
                writer.series[key].seen(stop - start, *everywhere)
            elif len(held := self.between(key, start, stop)):
                writer.series[key].seen(len(held), *_extent(self.steps[held], self.times[held]))
        if writer.undecided:
            writer.undecided = max(0, writer.undecided - int(np.count_nonzero(self._telling()[start:stop])))

    def reach(self, start: int, count: int) -> int:
        """The row after the next `count` rows that tell anything of attempts."""
        return start + int(np.searchsorted(np.cumsum(self._telling()[start:]), count)) + 1

    def first_telling(self) -> int | None:
        """The first row that tells anything of attempts."""
        telling = self._telling()
        return int(np.argmax(telling)) if telling.any() else None

    def _telling(self) -> NDArray[np.bool_]:
        """Which rows hold anything else than series with steps of their own [n]."""
        if isinstance(self._columns, DenseColumns):
            keys = self._columns.shape.keys
            return np.full(len(self.steps), any(key.own_steps is None for key in keys))
        telling = np.zeros(len(self.steps), dtype=np.bool_)
        for column in self._columns:
            if column.key.own_steps is None:
                telling[slice(None) if column.rows is None else column.rows] = True
        return telling

    def regress(self, writer: Writer, start: int, stop: int) -> int | None:
        """The first row in [start, stop) at which a clock series goes back, other than by late delivery."""
        tracks = writer.series
        if self.rising and self.steps[start] >= max((tracks[key].step for key in self.at), default=NO_STEP):
            return None
        base = {
            name: tracks[name].count - (self.place(name, start) if name in self.at else 0) for name in tracks
        }
        found = stop
        for key in self.at:
            rows = self.between(key, start, stop)
            back = rows[_goes_back(tracks[key], self.steps[rows], self.times[rows])]
            if len(back):
                counts = {name: base[name] + self.before(name, back) for name in tracks}
                clock = back[2 * counts[key] >= np.max(list(counts.values()), axis=0)]
                found = min(found, int(clock[0])) if len(clock) else found
        return found if found < stop else None


def _goes_back(track: Track, steps: IntArray, times: FloatArray) -> NDArray[np.bool_]:
    """Where a series' step is below one before it, though its wall time is not: no late delivery."""
    highest = np.maximum.accumulate(np.concatenate(([track.step], steps)))[:-1]
    latest = np.fmax.accumulate(np.concatenate(([track.last], times)))[:-1]
    return np.asarray((steps < highest) & ~(times < latest))


def _extent(steps: IntArray, times: FloatArray) -> tuple[int, float, float]:
    """The highest step, the first wall time that is known, and the latest."""
    known = times[~np.isnan(times)]
    return int(steps.max()), *((float(known[0]), float(known.max())) if len(known) else (nan, nan))
