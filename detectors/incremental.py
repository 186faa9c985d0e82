"""What detectors have worked out about a run so far, kept by who asks them, so that only news costs anything.

It is never more than that: with a memory or with a new one, the findings are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from holter.detectors.positions import Place, place_of
from holter.types import Series, SeriesKey

S = TypeVar("S")

_APART = 8
"""Older marks stand ever further apart: by so many times their distance from the newest."""


@dataclass(frozen=True)
class Mark(Generic[S]):
    """What was known after the first `rows` of each series of a trail; the state must never change.

    `upto`: it rests on every point of these series up to this place, so that it says nothing any more
    once another comes before it. None where each series was looked at by itself.
    """

    state: S
    rows: tuple[int, ...]
    upto: Place | None = None


class Trail(Generic[S]):
    """The marks that one scan left behind: the newest, and a few older ones to go back to."""

    def __init__(self, keys: tuple[SeriesKey, ...]) -> None:
        self.keys = keys
        self._marks: list[Mark[S]] = []
        self._answer: Mark[object] | None = None

    def newest(self, series: Sequence[Series]) -> Mark[S] | None:
        """The newest mark that still holds."""
        while self._marks:
            mark = self._marks[-1]
            if mark.upto is None or all(
                row >= len(one) or place_of(one, row) > mark.upto
                for one, row in zip(series, mark.rows, strict=True)
            ):
                return mark
            self._marks.pop()
        return None

    def before(self, mark: Mark[S]) -> Mark[S] | None:
        """The mark before one that holds no more, which is forgotten."""
        while self._marks and self._marks.pop() is not mark:
            pass
        return self._marks[-1] if self._marks else None

    def keep(self, mark: Mark[S]) -> None:
        """Remember a mark; its rows are no fewer than those of the marks before."""
        if self._marks and self._marks[-1].rows == mark.rows:
            self._marks.pop()
        self._marks.append(mark)
        newest = sum(mark.rows)
        for at in range(len(self._marks) - 3, 0, -1):
            before, after = self._marks[at - 1], self._marks[at + 1]
            if newest - sum(before.rows) <= _APART * (newest - sum(after.rows)):
                del self._marks[at]

    def answer(self, series: Sequence[Series]) -> object | None:
        """What the last look came to, if nothing has come since."""
        answer = self._answer
        return answer.state if answer is not None and answer.rows == tuple(map(len, series)) else None

    def answered(self, series: Sequence[Series], what: object) -> None:
        """Remember what a look at these rows came to; it must never change."""
        self._answer = Mark(what, tuple(map(len, series)))

    def cut(self, key: SeriesKey, row: int) -> None:
        """Forget what rests on rows of a series from this one on."""
        column = self.keys.index(key) if key in self.keys else None
        if column is not None:
            self._marks = [mark for mark in self._marks if mark.rows[column] <= row]
            self._answer = None


class Memory:
    """Marks of all detectors on one run.

    The caller gives the same memory with the same run, looked at again: its series may have grown, at the
    end or between their rows, and where a row that was there before has changed in place, the caller
    says so (`changed`). What does not fit any more is forgotten.
    """

    def __init__(self) -> None:
        self._trails: dict[Hashable, Trail[Any]] = {}
        self._seen: dict[SeriesKey, Series] = {}
        self._changed: dict[SeriesKey, int] = {}
        self._setting: object = None

    def under(self, setting: object) -> Memory:
        """This memory, emptied if it was made under another setting."""
        if setting != self._setting:
            self._trails.clear()
            self._setting = setting
        return self

    def changed(self, key: SeriesKey, row: int) -> None:
        """From this row on, a series is not what it was at the last look."""
        self._changed[key] = min(row, self._changed.get(key, row))

    def trail(self, name: Hashable, series: Sequence[Series]) -> Trail[Any]:
        """The trail of a scan over these series. `name` tells it from all others; over other series than
        before it is a new one."""
        for one in series:
            self._see(one)
        keys = tuple(one.key for one in series)
        found = self._trails.get(name)
        if found is None or found.keys != keys:
            found = self._trails[name] = Trail(keys)
        return found

    def trails(self) -> Collection[Trail[Any]]:
        """Every trail, for those who want to know how much is remembered."""
        return self._trails.values()

    def _see(self, series: Series) -> None:
        key = series.key
        before, changed = self._seen.get(key), self._changed.pop(key, None)
        if before is series and changed is None:
            return
        self._seen[key] = series
        if before is None:
            return
        intact = _intact(before, series) if changed is None else min(changed, len(before))
        if intact < len(before):
            for trail in self._trails.values():
                trail.cut(key, intact)


def _intact(before: Series, now: Series) -> int:
    """How many rows at the beginning are the same. Only the last one is compared where it is in its place:
    a row can come between others, but does not change by itself."""
    last = len(before) - 1
    if last < 0 or (last < len(now) and _same_row(before, now, last)):
        return last + 1
    common = slice(0, min(len(before), len(now)))
    same = _same_rows(before, now, common)
    return common.stop if same.all() else int(np.argmin(same))


def _same_row(one: Series, other: Series, row: int) -> bool:
    value, others = one.value[row], other.value[row]
    return bool(
        one.step[row] == other.step[row]
        and one.attempt[row] == other.attempt[row]
        and (value == others or (value != value and others != others))
    )


def _same_rows(one: Series, other: Series, rows: slice) -> np.ndarray[Any, np.dtype[np.bool_]]:
    same = (one.attempt[rows] == other.attempt[rows]) & (one.step[rows] == other.step[rows])
    # bit by bit: NaN is the same as NaN
    same &= one.value[rows].view(np.int64) == other.value[rows].view(np.int64)
    same &= one.time[rows].view(np.int64) == other.time[rows].view(np.int64)
    return np.asarray(same)
