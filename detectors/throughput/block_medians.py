"""Cuts series into blocks of a few points, each with its median and the level of the latest blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.positions import RowPosition
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class BlockThresholds(Thresholds):
    """Size of blocks, and of the windows of blocks that are compared with the established level."""

    points: int = 8
    """Points of a block. Its median tolerates up to three slow points: pauses and single stalls."""
    short_window: int = 2
    """Blocks. The shorter window of latest blocks."""
    long_window: int = 8
    """Blocks. The longer window of latest blocks, for smaller shifts."""


class MedianBlock(NamedTuple):
    """A block of points of one group: its rows, steps and median. Groups are never compared with each other.

    `short` and `long` are the medians of the latest 2 and 8 blocks of the group, of two medians the lower
    one, so that one slow block is no new level. NaN where there are fewer blocks.
    """

    group: int
    attempt: int
    first: int
    last: int
    first_step: int
    last_step: int
    median: float
    short: float
    long: float

    @property
    def begin(self) -> RowPosition:
        """The position of its first row."""
        return RowPosition(self.first, self.attempt, self.first_step)

    @property
    def end(self) -> RowPosition:
        """The position of its last row."""
        return RowPosition(self.last, self.attempt, self.last_step)


class BlockCursor(NamedTuple):
    """State of cutting: the row to continue from, and the latest medians of each group."""

    row: int = 0
    latest: tuple[tuple[int, tuple[float, ...]], ...] = ()


class BlockPoints(NamedTuple):
    """Points [n] to be cut into blocks.

    A block lies within one segment, a range of points with equal `segment` numbers in one attempt; points
    with negative numbers are left out.
    """

    row: IntArray
    attempt: IntArray
    step: IntArray
    value: FloatArray
    segment: IntArray
    group: IntArray


def cut_into_blocks(
    cursor: BlockCursor, points: BlockPoints, limits: BlockThresholds, *, after: int
) -> tuple[list[MedianBlock], BlockCursor]:
    """The complete blocks among all points from row `cursor.row` to before `after`, and the new cursor."""
    row, attempt, step, value, segment, group = points
    size = limits.points
    edges = np.flatnonzero(np.diff(segment)) + 1
    starts, ends = np.append(0, edges), np.append(edges, len(segment))
    firsts = [
        np.arange(start, end - size + 1, size)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if end - start >= size and segment[start] >= 0
    ]
    left = len(row)
    if len(row) and segment[-1] >= 0:
        left = int(ends[-1] - (ends[-1] - starts[-1]) % size)
    next_row = int(row[left]) if left < len(row) else after
    if not firsts:
        return [], cursor._replace(row=next_row)
    first = np.concatenate(firsts)
    last = first + size - 1
    median = np.median(value[first[:, None] + np.arange(size)], axis=1)
    latest = dict(cursor.latest)
    short, long = _trailing_medians(median, group[first], latest, limits)
    rows = (attempt[first], row[first], row[last], step[first], step[last])
    columns = (group[first], *rows, median, short, long)
    blocks = [
        MedianBlock._make(fields) for fields in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return blocks, BlockCursor(next_row, tuple(sorted(latest.items())))


def _trailing_medians(
    median: FloatArray, group: IntArray, latest: dict[int, tuple[float, ...]], limits: BlockThresholds
) -> Iterator[FloatArray]:
    """The medians over both windows at each block [b]; `latest` is updated."""
    short, long = np.full((2, len(median)), np.nan)
    for number in np.unique(group).tolist():
        of_group = np.flatnonzero(group == number)
        both = np.concatenate((latest.get(number, ()), median[of_group]))
        # of two blocks the lower one, of more the upper median
        windows = ((short, limits.short_window, 0), (long, limits.long_window, limits.long_window // 2))
        for trailing, window, position in windows:
            if len(both) >= window:
                medians = np.partition(sliding_window_view(both, window), position, axis=1)[:, position]
                count = min(len(medians), len(of_group))
                trailing[of_group[-count:]] = medians[-count:]
        latest[number] = tuple(both[1 - limits.long_window :].tolist())
    yield from (short, long)
