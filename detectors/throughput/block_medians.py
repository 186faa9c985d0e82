"""Cuts series into blocks of a few points, each with its median and the level of the latest blocks."""

from __future__ import annotations

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
    lasting_window: int = 32
    """Blocks. The longest window, for shifts in a run with short slow spells: these hardly move it."""


QUARTERS_APART = 0.9456
"""Expected distance of the third and the sixth of eight normal values, in standard deviations."""


class MedianBlock(NamedTuple):
    """A block of points of one group: its rows, steps and median. Groups are never compared with each other.

    `spread` is the robust standard deviation of its points, and `upper` the third largest of them: high where
    three are. `short`, `long` and `lasting` are the medians of
    the latest 2, 8 and 32 blocks of the group, of two medians the lower one, so that one slow block is no new
    level. NaN where there are fewer blocks.
    """

    group: int
    attempt: int
    first: int
    last: int
    first_step: int
    last_step: int
    median: float
    spread: float
    upper: float
    short: float
    long: float
    lasting: float

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
    ordered = np.sort(value[first[:, None] + np.arange(size)], axis=1)
    median = 0.5 * (ordered[:, (size - 1) // 2] + ordered[:, size // 2])
    upper = ordered[:, -size // 4 - 1]
    spread = (upper - ordered[:, size // 4]) / QUARTERS_APART
    latest = dict(cursor.latest)
    trailing = _trailing_medians(median, group[first], latest, limits)
    rows = (attempt[first], row[first], row[last], step[first], step[last])
    columns = (group[first], *rows, median, spread, upper, *trailing)
    blocks = [
        MedianBlock._make(fields) for fields in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return blocks, BlockCursor(next_row, tuple(sorted(latest.items())))


def _trailing_medians(
    median: FloatArray, group: IntArray, latest: dict[int, tuple[float, ...]], limits: BlockThresholds
) -> FloatArray:
    """The medians over the windows at each block [windows, blocks]; `latest` is updated."""
    sizes = (limits.short_window, limits.long_window, limits.lasting_window)
    medians_of = np.full((len(sizes), len(median)), np.nan)
    for number in np.unique(group).tolist():
        of_group = np.flatnonzero(group == number)
        both = np.concatenate((latest.get(number, ()), median[of_group]))
        # of two blocks the lower one, of more the upper median
        for trailing, window in zip(medians_of, sizes, strict=True):
            position = 0 if window == limits.short_window else window // 2
            if len(both) >= window:
                medians = np.partition(sliding_window_view(both, window), position, axis=1)[:, position]
                count = min(len(medians), len(of_group))
                trailing[of_group[-count:]] = medians[-count:]
        latest[number] = tuple(both[1 - limits.lasting_window :].tolist())
    return medians_of
