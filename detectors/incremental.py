"""Checkpoints of detectors' scans over a run, so that a pass over a run that has grown reads only new points.

The findings are the same with the state of earlier passes and with an empty one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from holter.detectors.positions import Position, position_of
from holter.types import Series, SeriesKey

S = TypeVar("S")

_SPACING_RATIO = 8
"""Older checkpoints are ever further apart: by this many times their distance from the newest."""


@dataclass(frozen=True)
class Checkpoint(Generic[S]):
    """A scan's state after the first `rows` of each of its series. The state must never be changed.

    `upto`: the state depends on every point of these series up to this position, so that it becomes invalid
    when another point arrives before it. None where each series was scanned by itself.
    """

    state: S
    rows: tuple[int, ...]
    upto: Position | None = None


class ScanCheckpoints(Generic[S]):
    """The checkpoints of one scan: the newest, and a few older ones to fall back to."""

    def __init__(self, keys: tuple[SeriesKey, ...]) -> None:
        self.keys = keys
        self._checkpoints: list[Checkpoint[S]] = []
        self._result: Checkpoint[object] | None = None

    def latest(self, series: Sequence[Series]) -> Checkpoint[S] | None:
        """The newest checkpoint that is still valid; those that are not are discarded."""
        while self._checkpoints:
            newest = self._checkpoints[-1]
            if newest.upto is None or all(
                row >= len(each) or position_of(each, row) > newest.upto
                for each, row in zip(series, newest.rows, strict=True)
            ):
                return newest
            self._checkpoints.pop()
        return None

    def previous(self, checkpoint: Checkpoint[S]) -> Checkpoint[S] | None:
        """The checkpoint before this one; this one, which is no longer valid, is discarded."""
        while self._checkpoints and self._checkpoints.pop() is not checkpoint:
            pass
        return self._checkpoints[-1] if self._checkpoints else None

    def save(self, checkpoint: Checkpoint[S]) -> None:
        """Store a checkpoint; its rows are no fewer than those of the checkpoints before."""
        if self._checkpoints and self._checkpoints[-1].rows == checkpoint.rows:
            self._checkpoints.pop()
        self._checkpoints.append(checkpoint)
        newest = sum(checkpoint.rows)
        for index in range(len(self._checkpoints) - 3, 0, -1):
            before, after = self._checkpoints[index - 1], self._checkpoints[index + 1]
            if newest - sum(before.rows) <= _SPACING_RATIO * (newest - sum(after.rows)):
                del self._checkpoints[index]

    def cached_result(self, series: Sequence[Series]) -> object | None:
        """The result of the previous pass, if no row has arrived since."""
        result = self._result
        return result.state if result is not None and result.rows == tuple(map(len, series)) else None

    def cache_result(self, series: Sequence[Series], result: object) -> None:
        """Store the result of a pass over these rows; it must never be changed."""
        self._result = Checkpoint(result, tuple(map(len, series)))

    def discard_from(self, key: SeriesKey, row: int) -> None:
        """Discard what depends on rows of a series from `row` on."""
        column = self.keys.index(key) if key in self.keys else None
        if column is not None:
            self._checkpoints = [each for each in self._checkpoints if each.rows[column] <= row]
            self._result = None


class IncrementalState:
    """The checkpoints of all detectors on one run.

    The caller passes the same state with the same run on every pass. The run's series may have grown, at
    the end or between their rows; where an existing row has changed in place, the caller reports it with
    `mark_changed`. Checkpoints that no longer fit are discarded.
    """

    def __init__(self) -> None:
        self._scans: dict[Hashable, ScanCheckpoints[Any]] = {}
        self._previous: dict[SeriesKey, Series] = {}
        self._changed: dict[SeriesKey, int] = {}
        self._settings: object = None

    def for_settings(self, settings: object) -> IncrementalState:
        """This state, emptied if it was made under other settings."""
        if settings != self._settings:
            self._scans.clear()
            self._settings = settings
        return self

    def mark_changed(self, key: SeriesKey, row: int) -> None:
        """Report that a series differs from the previous pass from this row on."""
        self._changed[key] = min(row, self._changed.get(key, row))

    def checkpoints(self, name: Hashable, series: Sequence[Series]) -> ScanCheckpoints[Any]:
        """The checkpoints of the scan `name`, a name of its own, over these series; new ones if the series
        are not those of the previous pass."""
        for each in series:
            self._compare_with_previous(each)
        keys = tuple(each.key for each in series)
        scan = self._scans.get(name)
        if scan is None or scan.keys != keys:
            scan = self._scans[name] = ScanCheckpoints(keys)
        return scan

    def all_checkpoints(self) -> Collection[ScanCheckpoints[Any]]:
        """The checkpoints of every scan, for measuring how much is stored."""
        return self._scans.values()

    def _compare_with_previous(self, series: Series) -> None:
        key = series.key
        previous, changed = self._previous.get(key), self._changed.pop(key, None)
        if previous is series and changed is None:
            return
        self._previous[key] = series
        if previous is None:
            return
        unchanged = _unchanged_rows(previous, series) if changed is None else min(changed, len(previous))
        if unchanged < len(previous):
            for scan in self._scans.values():
                scan.discard_from(key, unchanged)


def _unchanged_rows(previous: Series, current: Series) -> int:
    """How many rows at the beginning are equal. Where the last previous row is still at its index, only that
    row is compared: a row may be inserted between others, but does not change without `mark_changed`."""
    last = len(previous) - 1
    if last < 0 or (last < len(current) and _is_same_row(previous, current, last)):
        return last + 1
    common = slice(0, min(len(previous), len(current)))
    same = _same_rows(previous, current, common)
    return common.stop if same.all() else int(np.argmin(same))


def _is_same_row(left: Series, right: Series, row: int) -> bool:
    value, other = left.value[row], right.value[row]
    return bool(
        left.step[row] == right.step[row]
        and left.attempt[row] == right.attempt[row]
        and (value == other or (value != value and other != other))
    )


def _same_rows(left: Series, right: Series, rows: slice) -> np.ndarray[Any, np.dtype[np.bool_]]:
    same = (left.attempt[rows] == right.attempt[rows]) & (left.step[rows] == right.step[rows])
    # compared bit by bit: NaN equals NaN
    same &= left.value[rows].view(np.int64) == right.value[rows].view(np.int64)
    same &= left.time[rows].view(np.int64) == right.time[rows].view(np.int64)
    return np.asarray(same)
