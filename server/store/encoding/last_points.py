"""The newest point of each series, as columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from holter.attempts.step_values import time_order
from holter.server.store.encoding.block import PointBlock
from holter.server.store.encoding.merge import merge_blocks
from holter.types import FloatArray, IntArray


class LastPoints(NamedTuple):
    """The newest point of each series: the last one of the last step of its newest attempt; arrays [c], ids
    ascending and unique.
    """

    ids: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(column.nbytes for column in self)


def _none() -> LastPoints:
    integers, floats = np.empty(0, dtype=np.int64), np.empty(0)
    return LastPoints(integers, integers, integers, floats, floats)


NO_LAST_POINTS = _none()


def last_points_of_entry(attempt: int, block: PointBlock) -> LastPoints:
    """Return the newest points of a batch as logged: steps and series in any order."""
    if block.rows is not None and not _has_ascending_steps(block):
        block = merge_blocks([block])
    if block.rows is None:
        row = _last_row(block)
        rows = np.full(len(block.ids), row)
        values = block.values.reshape(len(block.ids), -1)[:, row]
    else:
        last = block.offsets[1:] - 1
        rows, values = block.rows[last], block.values[last]
    attempts = np.full(len(block.ids), attempt, dtype=np.int64)
    last_points = LastPoints(block.ids, attempts, block.steps[rows], block.times[rows], values)
    if np.all(last_points.ids[1:] > last_points.ids[:-1]):
        return last_points
    order = np.argsort(last_points.ids)
    return LastPoints._make(column[order] for column in last_points)


def _last_row(block: PointBlock) -> int:
    """The row with the last point of a dense block: of equal steps the latest, of equal times the last."""
    last = len(block.steps) - 1
    if np.all(block.steps[1:] > block.steps[:-1]):
        return last
    return int(np.lexsort((time_order(block.times), block.steps))[-1])


def _has_ascending_steps(block: PointBlock) -> bool:
    """Whether the steps of each series of a sparse block ascend."""
    steps = block.steps[block.rows]
    ascending = steps[1:] > steps[:-1]
    ascending[block.offsets[1:-1] - 1] = True  # at the boundary between two series
    return bool(ascending.all())


def merge_last_points(known: LastPoints, newer: LastPoints) -> LastPoints:
    """The later point of each series; at equal steps and times that of `newer`, which was written later."""
    if not len(known.ids) or not len(newer.ids):
        return newer if len(newer.ids) else known
    insert_at = np.searchsorted(known.ids, newer.ids)
    index = np.minimum(insert_at, len(known.ids) - 1)
    exists = known.ids[index] == newer.ids
    attempt, step = known.attempt[index], known.step[index]
    replaces = exists & ((newer.attempt > attempt) | ((newer.attempt == attempt) & (newer.step >= step)))
    tied = exists & (newer.attempt == attempt) & (newer.step == step)
    if tied.any():
        replaces &= ~tied | (time_order(newer.time) >= time_order(known.time[index]))
    if replaces.all() and len(newer.ids) == len(known.ids):
        return newer
    columns: list[Any] = []
    for old, new in zip(known, newer, strict=True):
        column = old.copy()
        column[index[replaces]] = new[replaces]
        columns.append(column if exists.all() else np.insert(column, insert_at[~exists], new[~exists]))
    return LastPoints._make(columns)


def earliest_last_point(last_points: LastPoints, ids: IntArray) -> tuple[int, int]:
    """Return the smallest (attempt, step) at which one of these series ends."""
    index = np.searchsorted(last_points.ids, ids)
    attempt = int(last_points.attempt[index].min())
    return attempt, int(last_points.step[index][last_points.attempt[index] == attempt].min())
