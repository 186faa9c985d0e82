"""Steady growth of memory: of the least of longer and longer blocks, which is what caches leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.types import FloatArray, IntArray, Series

_BLOCKS = 24
"""Blocks looked at together. The least of a block is what stays when caches and buffers are emptied."""
_RISING = 21
"""Of their 23 differences so many rise: once in 30,000 where memory goes up and down by chance."""
FIRST = 8
"""Points in the shortest blocks; others have twice as many again and again."""
_STEPS, _SECONDS = 2000, 1800.0
"""Growth over less is a warm-up, of caches, pools and workers, until it has gone on."""
_STEADY, _ONE_OFF, _TAKEN_BACK = 0.8, 0.34, 0.15
"""The second half grows by this share of the first or more: what slows down comes to an end. No single
difference is more than that share of the whole growth, and no more than that is taken back on the way."""
_ANEW = 0.5
"""Share of the growth that lies above everything before: a cache that fills again is no leak."""
_STOPPED = 0.25


@dataclass(frozen=True, kw_only=True)
class MemoryGrowth:
    """Steady growth; `start`, `seen`, `end`, `known` are rows of the series: `end` and where it was known to
    have ended are None while it lasts.

    It was seen in blocks of a `length`, from the one with the number `block` on, the least of which is
    `least`, and in which it had `reached` a level.
    """

    attempt: int
    start: int
    seen: int
    length: int
    block: int
    least: float
    reached: float
    end: int | None = None
    known: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Blocks:
    """The latest blocks [n] of one length: the least of each, its first and its last row. `begin` is the
    number of the first one, `highest` the highest of those before."""

    length: int
    least: FloatArray
    first: IntArray
    last: IntArray
    begin: int = 0
    highest: float = -np.inf

    @property
    def after(self) -> int:
        """The number of the next block."""
        return self.begin + len(self.least)

    def and_then(self, others: _Blocks) -> _Blocks:
        """With those that follow."""
        return replace(
            self,
            least=np.concatenate((self.least, others.least)),
            first=np.concatenate((self.first, others.first)),
            last=np.concatenate((self.last, others.last)),
        )

    def pairs(self, number: int) -> _Blocks:
        """Blocks of twice the length, from the one with a number on."""
        inside = slice(2 * number - self.begin, (self.after - self.after % 2) - self.begin)
        least = self.least[inside]
        return _Blocks(
            length=2 * self.length,
            least=np.minimum(least[::2], least[1::2]),
            first=self.first[inside][::2],
            last=self.last[inside][1::2],
        )

    def latest(self) -> _Blocks:
        """Those with which one that follows is looked at together."""
        left = max(len(self.least) - _BLOCKS, 0)
        return replace(
            self,
            begin=self.begin + left,
            highest=float(self.least[:left].max(initial=self.highest)),
            least=self.least[left:].copy(),
            first=self.first[left:].copy(),
            last=self.last[left:].copy(),
        )

    def windows(self, since: int, after: int) -> Iterator[int]:
        """Where enough blocks in sequence rise above everything before, counted from the first one here;
        they begin at point `since` or later, and end after point `after`."""
        width = _BLOCKS - 1
        rises = np.concatenate(([0], np.cumsum(np.diff(self.least) > 0)))
        at = np.flatnonzero(rises[width:] - rises[:-width] >= _RISING)
        number = self.begin + at
        at = at[(number * self.length >= since) & ((number + _BLOCKS) * self.length - 1 > after)]
        for window in at.tolist():
            inside = self.least[window : window + _BLOCKS]
            before = self.least[:window].max(initial=self.highest)
            # otherwise it has been there before, and came back
            if inside[-1] - before >= _ANEW * (inside[-1] - inside[0]):
                yield window


class MemoryGrowthScan:
    """Goes through the memory in use, attempt by attempt; `found` are the growths so far."""

    def __init__(self, share: float) -> None:
        self.found: tuple[MemoryGrowth, ...] = ()
        self._share = share
        self._begin(-1)

    def _begin(self, attempt: int) -> None:
        self.attempt = attempt
        self._lengths: list[_Blocks] = []
        self._since, self._after = 0, 0

    def copy(self) -> MemoryGrowthScan:
        """As it is now: what it consists of is replaced, never changed."""
        other = copy(self)
        other._lengths = self._lengths.copy()
        return other

    def look(self, attempt: int, series: Series, row: IntArray, used: FloatArray) -> int:
        """Go on with further points [n] of an attempt, by their rows; tells of how many, those in whole
        blocks, it has taken note."""
        if attempt != self.attempt:
            self._begin(attempt)
        whole = len(used) // FIRST * FIRST
        if whole:
            rows = row[:whole].reshape(-1, FIRST)
            least = used[:whole].reshape(-1, FIRST).min(axis=1)
            changed = self._add(_Blocks(length=FIRST, least=least, first=rows[:, 0], last=rows[:, -1]))
            while self._next(series, changed):
                pass
            self._after = max(self._after, self._lengths[0].after * FIRST - 1)
            self._lengths[:changed] = [blocks.latest() for blocks in self._lengths[:changed]]
        return whole

    def _add(self, news: _Blocks) -> int:
        """Add blocks, and the longer ones that they make; tells of how many lengths there are new ones."""
        changed = 0
        while len(news.least):
            known = self._lengths[changed] if changed < len(self._lengths) else None
            blocks = news if known is None else known.and_then(news)
            self._lengths[changed : changed + 1] = [blocks]
            changed += 1
            longer = self._lengths[changed].after if changed < len(self._lengths) else 0
            news = blocks.pairs(longer)
        return changed

    def _next(self, series: Series, changed: int) -> bool:
        """Find the end of the growth that lasts, or the next growth; whether there was one."""
        last = self.found[-1] if self.found else None
        if last is not None and last.attempt == self.attempt and last.end is None:
            blocks = next(one for one in self._lengths if one.length == last.length)
            ended = _over(last, blocks)
            if ended is None:
                return False
            end, known = ended
            self._since, self._after = end * last.length, (known + 1) * last.length - 1
            rows = int(blocks.first[end - blocks.begin]), int(blocks.last[known - blocks.begin])
            self.found = (*self.found[:-1], replace(last, end=rows[0], known=rows[1]))
            return True
        some = (self._first(series, blocks) for blocks in self._lengths[:changed])
        growth = min((one for one in some if one), key=lambda one: (one.seen, one.start), default=None)
        if growth is not None:
            self.found = (*self.found, growth)
        return growth is not None

    def _first(self, series: Series, blocks: _Blocks) -> MemoryGrowth | None:
        """The first steady growth in blocks of one length."""
        if len(blocks.least) < _BLOCKS:
            return None
        for window in blocks.windows(self._since, self._after):
            inside = blocks.least[window : window + _BLOCKS]
            start, seen = int(blocks.first[window]), int(blocks.last[window + _BLOCKS - 1])
            if _long_enough(series, start, seen) and _is_steady(inside, self._share):
                return MemoryGrowth(
                    attempt=self.attempt,
                    start=start,
                    seen=seen,
                    length=blocks.length,
                    block=blocks.begin + window,
                    least=float(inside[0]),
                    reached=float(np.median(inside)) * 2 - float(inside[0]),
                )
        return None


def _long_enough(series: Series, start: int, seen: int) -> bool:
    seconds = float(series.time[seen] - series.time[start])
    return bool(series.step[seen] - series.step[start] >= _STEPS) and not seconds < _SECONDS


def _is_steady(least: FloatArray, share: float) -> bool:
    total = float(least[-1] - least[0])
    # of free memory the level is what is left; a share of it is as good
    if total <= share * abs(float(np.median(least))):
        return False
    half = _BLOCKS // 2
    along = np.arange(half) - (half - 1) / 2
    first, last = float(along @ least[:half]), float(along @ least[half:])
    taken_back = float(np.max(np.maximum.accumulate(least) - least))
    one_off = float(np.diff(least).max())
    return bool(last >= _STEADY * first and one_off <= _ONE_OFF * total and taken_back <= _TAKEN_BACK * total)


def _over(growth: MemoryGrowth, blocks: _Blocks) -> tuple[int, int] | None:
    """The number of the block from which on it has hardly grown any more or was given back, and of the block
    that told."""
    ends = []
    first = max(growth.block + _BLOCKS, blocks.begin)
    level = 0.5 * (growth.least + growth.reached)
    given_back = np.flatnonzero(blocks.least[first - blocks.begin :] < level)
    if len(given_back):
        ends.append((first + int(given_back[0]),) * 2)
    first, slope = max(first - 1, blocks.begin), (growth.reached - growth.least) / (_BLOCKS - 1)
    if blocks.after - first >= _BLOCKS:
        later = sliding_window_view(blocks.least[first - blocks.begin :], _BLOCKS)
        slow = np.flatnonzero(later[:, -1] - later[:, 0] < _STOPPED * slope * (_BLOCKS - 1))
        if len(slow):
            inside, at = later[slow[0]], first + int(slow[0])
            rest = int(np.argmax(inside >= np.median(inside[_BLOCKS // 2 :]) - slope / 2))
            ends.append((at + rest, at + _BLOCKS - 1))
    return min(ends, key=lambda one: one[1], default=None)
