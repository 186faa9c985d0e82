"""Detects steady growth of memory by the minima of longer and longer blocks, which caches do not raise."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray, Series


@dataclass(frozen=True, kw_only=True)
class MemoryGrowthThresholds(Thresholds):
    """When the growth of memory is steady, and when it has ended."""

    blocks: int = 24
    """Blocks compared together. The minimum of a block is what remains when caches and buffers are emptied.
    """
    rising_blocks: int = 21
    """Of the 23 differences of the blocks so many must be positive: once in 30,000 where memory varies by
    chance."""
    fewest_stairs: int = 7
    """Memory that is constant in between and rises by so many steps, as far apart and as high as each
    other, and never falls, grows steadily, too: once an epoch, an evaluation, a checkpoint."""
    stair_noises: float = 5.0
    """Median differences of blocks that a step must exceed..."""
    stair_share: float = 0.5
    """Share of the highest step. ... and that each step must reach."""
    first_points: int = 8
    """Points of the shortest blocks; longer ones have twice as many, repeatedly."""
    min_steps: int = 2000
    """Steps. Growth over fewer is a warm-up of caches, pools and workers, until it has continued."""
    min_seconds: float = 1800.0
    """Seconds. The same by the wall clock."""
    min_share: float = 0.02
    """Share of the median. Smaller growth is not reported; divided by the sensitivity."""
    steady_share: float = 0.8
    """Share of the first half's growth that the second half must reach: growth that slows down will end."""
    max_single_share: float = 0.34
    """Share of the growth. No single difference may be larger."""
    max_returned_share: float = 0.15
    """Share of the growth. No more may be released in between."""
    new_share: float = 0.5
    """Share of the growth that must lie above everything before: a cache that fills again is no leak."""
    stopped_share: float = 0.25
    """Share of the slope. Growth that is slower has ended."""
    returned_level: float = 0.5
    """Share of the sum of lowest and reached level. Below it memory was released, and the growth has ended.
    """


@dataclass(frozen=True, kw_only=True)
class MemoryGrowth:
    """Steady growth of a series; `start`, `detected`, `end` and `end_known` are rows.

    `end` and the row at which it was known are None while it lasts. The growth was detected in blocks of
    `length` points from block number `block` on, whose minimum was `lowest` and whose level was `reached`.
    """

    attempt: int
    start: int
    detected: int
    length: int
    block: int
    lowest: float
    reached: float
    end: int | None = None
    end_known: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class _MinimumBlocks:
    """The latest blocks [n] of one length: the minimum, the first and the last row of each.

    `begin` is the number of the first of them, `highest` the highest minimum of the blocks before.
    """

    length: int
    minimum: FloatArray
    first: IntArray
    last: IntArray
    begin: int = 0
    highest: float = -np.inf

    @property
    def after(self) -> int:
        """The number of the next block."""
        return self.begin + len(self.minimum)

    def append(self, others: _MinimumBlocks) -> _MinimumBlocks:
        """These blocks and those that follow."""
        return replace(
            self,
            minimum=np.concatenate((self.minimum, others.minimum)),
            first=np.concatenate((self.first, others.first)),
            last=np.concatenate((self.last, others.last)),
        )

    def joined_pairs(self, number: int) -> _MinimumBlocks:
        """Blocks of twice the length, from the one with this number on."""
        inside = slice(2 * number - self.begin, (self.after - self.after % 2) - self.begin)
        minimum = self.minimum[inside]
        return _MinimumBlocks(
            length=2 * self.length,
            minimum=np.minimum(minimum[::2], minimum[1::2]),
            first=self.first[inside][::2],
            last=self.last[inside][1::2],
        )

    def latest(self, count: int) -> _MinimumBlocks:
        """The latest blocks, which are compared with the next one."""
        dropped = max(len(self.minimum) - count, 0)
        return replace(
            self,
            begin=self.begin + dropped,
            highest=float(self.minimum[:dropped].max(initial=self.highest)),
            minimum=self.minimum[dropped:].copy(),
            first=self.first[dropped:].copy(),
            last=self.last[dropped:].copy(),
        )

    def rising_windows(
        self, since: int, after: int, min_share: float, limits: MemoryGrowthThresholds
    ) -> Iterator[int]:
        """The indices of windows of blocks that rise above everything before.

        They begin at point `since` or later, and end after point `after`.
        """
        width = limits.blocks - 1
        rises = np.concatenate(([0], np.cumsum(np.diff(self.minimum) > 0)))
        grown = self.minimum[width:] - self.minimum[:-width] > min_share * np.abs(self.minimum[width:])
        number = self.begin + np.arange(len(grown))
        is_new = (number * self.length >= since) & ((number + limits.blocks) * self.length - 1 > after)
        index = np.flatnonzero(grown & is_new)
        if not len(index):
            return
        is_rising = rises[index + width] - rises[index] >= limits.rising_blocks
        windows = sliding_window_view(np.diff(self.minimum), width)[index]
        for window in index[is_rising | _are_stairs(windows, limits)].tolist():
            inside = self.minimum[window : window + limits.blocks]
            before = self.minimum[:window].max(initial=self.highest)
            # otherwise memory has been that high before, and returned
            if inside[-1] - before >= limits.new_share * (inside[-1] - inside[0]):
                yield window


class MemoryGrowthScan:
    """Scans the memory in use, attempt by attempt; `growths` are those so far."""

    def __init__(self, min_share: float, limits: MemoryGrowthThresholds) -> None:
        self.growths: tuple[MemoryGrowth, ...] = ()
        self._min_share = min_share
        self._limits = limits
        self._begin(-1)

    def _begin(self, attempt: int) -> None:
        self.attempt = attempt
        self._lengths: list[_MinimumBlocks] = []
        self._since, self._after = 0, 0

    def copy(self) -> MemoryGrowthScan:
        """A copy of the present state: its parts are replaced, never changed."""
        other = copy(self)
        other._lengths = self._lengths.copy()
        return other

    def scan(self, attempt: int, series: Series, row: IntArray, used: FloatArray) -> int:
        """Scan further points [n] of an attempt, given by their rows; returns how many filled complete
        blocks.

        The remaining points must be passed again with those that follow.
        """
        if attempt != self.attempt:
            self._begin(attempt)
        size = self._limits.first_points
        complete = len(used) // size * size
        if complete:
            rows = row[:complete].reshape(-1, size)
            minimum = used[:complete].reshape(-1, size).min(axis=1)
            changed = self._add(
                _MinimumBlocks(length=size, minimum=minimum, first=rows[:, 0], last=rows[:, -1])
            )
            while self._find_next(series, changed):
                pass
            self._after = max(self._after, self._lengths[0].after * size - 1)
            count = self._limits.blocks
            self._lengths[:changed] = [blocks.latest(count) for blocks in self._lengths[:changed]]
        return complete

    def _add(self, new: _MinimumBlocks) -> int:
        """Add blocks and the longer ones they complete; returns the number of lengths with new blocks."""
        changed = 0
        while len(new.minimum):
            known = self._lengths[changed] if changed < len(self._lengths) else None
            blocks = new if known is None else known.append(new)
            self._lengths[changed : changed + 1] = [blocks]
            changed += 1
            longer = self._lengths[changed].after if changed < len(self._lengths) else 0
            new = blocks.joined_pairs(longer)
        return changed

    def _find_next(self, series: Series, changed: int) -> bool:
        """Find the end of the active growth, or the next growth; returns whether there was one."""
        last = self.growths[-1] if self.growths else None
        if last is not None and last.attempt == self.attempt and last.end is None:
            blocks = next(blocks for blocks in self._lengths if blocks.length == last.length)
            ended = _find_end(last, blocks, self._limits)
            if ended is None:
                return False
            end, known = ended
            self._since, self._after = end * last.length, (known + 1) * last.length - 1
            rows = int(blocks.first[end - blocks.begin]), int(blocks.last[known - blocks.begin])
            self.growths = (*self.growths[:-1], replace(last, end=rows[0], end_known=rows[1]))
            return True
        candidates = (self._first_growth(series, blocks) for blocks in self._lengths[:changed])
        growth = min(
            (candidate for candidate in candidates if candidate),
            key=lambda candidate: (candidate.detected, candidate.start),
            default=None,
        )
        if growth is not None:
            self.growths = (*self.growths, growth)
        return growth is not None

    def _first_growth(self, series: Series, blocks: _MinimumBlocks) -> MemoryGrowth | None:
        """The first steady growth in blocks of one length."""
        limits = self._limits
        if len(blocks.minimum) < limits.blocks:
            return None
        for window in blocks.rising_windows(self._since, self._after, self._min_share, limits):
            inside = blocks.minimum[window : window + limits.blocks]
            start, detected = int(blocks.first[window]), int(blocks.last[window + limits.blocks - 1])
            is_long = _is_long_enough(series, start, detected, limits)
            if is_long and _is_steady(inside, self._min_share, limits):
                return MemoryGrowth(
                    attempt=self.attempt,
                    start=start,
                    detected=detected,
                    length=blocks.length,
                    block=blocks.begin + window,
                    lowest=float(inside[0]),
                    reached=float(np.median(inside)) * 2 - float(inside[0]),
                )
        return None


def _are_stairs(differences: FloatArray, limits: MemoryGrowthThresholds) -> NDArray[np.bool_]:
    """Whether each row of differences of blocks [n, blocks] consists of equal steps upwards."""
    size = np.abs(differences)
    highest = differences.max(axis=1)
    least = np.maximum(limits.stair_noises * np.median(size, axis=1), limits.stair_share * highest)
    is_step = (differences > 0.0) & (differences >= least[:, None])
    # what is larger than noise without being a step is a smaller step, or a fall
    is_clear = np.where(is_step, 0.0, size).max(axis=1) < least
    enough = np.flatnonzero(is_clear & (is_step.sum(axis=1) >= limits.fewest_stairs))
    regular = np.zeros(len(differences), dtype=bool)
    for row in enough.tolist():
        gaps = np.diff(np.flatnonzero(is_step[row]))
        # steps that are equally far apart fall into blocks with distances that differ by one
        regular[row] = gaps.max() - gaps.min() <= 1
    return regular


def _is_long_enough(series: Series, start: int, detected: int, limits: MemoryGrowthThresholds) -> bool:
    seconds = float(series.time[detected] - series.time[start])
    steps = series.step[detected] - series.step[start]
    return bool(steps >= limits.min_steps) and not seconds < limits.min_seconds  # true for NaN


def _is_steady(minimum: FloatArray, min_share: float, limits: MemoryGrowthThresholds) -> bool:
    total = float(minimum[-1] - minimum[0])
    # the level of free memory is what is left; a share of that serves as well
    if total <= min_share * abs(float(np.median(minimum))):
        return False
    half = limits.blocks // 2
    centred = np.arange(half) - (half - 1) / 2
    first, last = float(centred @ minimum[:half]), float(centred @ minimum[half:])
    returned = float(np.max(np.maximum.accumulate(minimum) - minimum))
    largest = float(np.diff(minimum).max())
    return bool(
        last >= limits.steady_share * first
        and largest <= limits.max_single_share * total
        and returned <= limits.max_returned_share * total
    )


def _find_end(
    growth: MemoryGrowth, blocks: _MinimumBlocks, limits: MemoryGrowthThresholds
) -> tuple[int, int] | None:
    """The number of the block from which on growth has nearly stopped or memory was released.

    The second number is that of the block at which this was known.
    """
    count = limits.blocks
    ends = []
    first = max(growth.block + count, blocks.begin)
    level = limits.returned_level * (growth.lowest + growth.reached)
    released = np.flatnonzero(blocks.minimum[first - blocks.begin :] < level)
    if len(released):
        ends.append((first + int(released[0]),) * 2)
    first, slope = max(first - 1, blocks.begin), (growth.reached - growth.lowest) / (count - 1)
    if blocks.after - first >= count:
        later = sliding_window_view(blocks.minimum[first - blocks.begin :], count)
        slow = np.flatnonzero(later[:, -1] - later[:, 0] < limits.stopped_share * slope * (count - 1))
        if len(slow):
            inside, number = later[slow[0]], first + int(slow[0])
            flat = int(np.argmax(inside >= np.median(inside[count // 2 :]) - slope / 2))
            ends.append((number + flat, number + count - 1))
    return min(ends, key=lambda end: end[1], default=None)
