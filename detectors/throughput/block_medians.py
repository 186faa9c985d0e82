"""Blocks: a few points that follow each other, by their median, and what the last blocks show together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.positions import RowPosition
from holter.types import FloatArray, IntArray

BLOCK = 8
"""Points in a block: its median stands up to three slow points."""
SHORT, LONG = 2, 8
"""Blocks looked at together."""


class MedianBlock(NamedTuple):
    """A block of a group, between which and other groups nothing is compared; its first and last row.

    `short` and `long` are what the last 2 and 8 blocks of the group show: their median, of two the lower
    one, so that one slow block is no new level. NaN where there are fewer.
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
        return RowPosition(self.first, self.attempt, self.first_step)

    @property
    def end(self) -> RowPosition:
        return RowPosition(self.last, self.attempt, self.last_step)


class BlockCursor(NamedTuple):
    """What cutting into blocks has come to: the row to go on from, and each group's latest medians."""

    row: int = 0
    latest: tuple[tuple[int, tuple[float, ...]], ...] = ()


class BlockPoints(NamedTuple):
    """Points [n] to be cut: rows with something to say. A block lies within a stretch, a range of equal
    numbers, of one attempt; negative ones are left out."""

    row: IntArray
    attempt: IntArray
    step: IntArray
    value: FloatArray
    stretch: IntArray
    group: IntArray


def cut_into_blocks(
    cut: BlockCursor, points: BlockPoints, *, after: int
) -> tuple[list[MedianBlock], BlockCursor]:
    """The whole blocks among all points from row `cut.row` to `after` (not included), and how to go on."""
    row, attempt, step, value, stretch, group = points
    edges = np.flatnonzero(np.diff(stretch)) + 1
    starts, ends = np.append(0, edges), np.append(edges, len(stretch))
    firsts = [
        np.arange(start, end - BLOCK + 1, BLOCK)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        if end - start >= BLOCK and stretch[start] >= 0
    ]
    left = len(row)
    if len(row) and stretch[-1] >= 0:
        left = int(ends[-1] - (ends[-1] - starts[-1]) % BLOCK)
    go_on = int(row[left]) if left < len(row) else after
    if not firsts:
        return [], cut._replace(row=go_on)
    first = np.concatenate(firsts)
    last = first + BLOCK - 1
    median = np.median(value[first[:, None] + np.arange(BLOCK)], axis=1)
    latest = dict(cut.latest)
    short, long = _trailing(median, group[first], latest)
    rows = (attempt[first], row[first], row[last], step[first], step[last])
    columns = (group[first], *rows, median, short, long)
    blocks = [MedianBlock._make(one) for one in zip(*(column.tolist() for column in columns), strict=True)]
    return blocks, BlockCursor(go_on, tuple(sorted(latest.items())))


def _trailing(
    median: FloatArray, group: IntArray, latest: dict[int, tuple[float, ...]]
) -> Iterator[FloatArray]:
    """What the last blocks of each block's group show [b], for both numbers of them; `latest` goes on."""
    short, long = np.full((2, len(median)), np.nan)
    for number in np.unique(group).tolist():
        mine = np.flatnonzero(group == number)
        before = latest.get(number, ())
        both = np.concatenate((before, median[mine]))
        for shown, scale, place in ((short, SHORT, 0), (long, LONG, LONG // 2)):
            if len(both) >= scale:
                found = np.partition(sliding_window_view(both, scale), place, axis=1)[:, place]
                fewest = min(len(found), len(mine))
                shown[mine[-fewest:]] = found[-fewest:]
        latest[number] = tuple(both[1 - LONG :].tolist())
    yield from (short, long)
