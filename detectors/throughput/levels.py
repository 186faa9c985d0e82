"""Established levels: when a quantity that should stay where it is rises and stays up, and since when.

The series is cut into blocks of a few points; a block's median forgives pauses and single stalls. What
counts as established, and how much it wanders by itself, is learnt from the blocks seen so far, so the
rise asked for grows with the noise of the series itself (rules with a fixed allowance raise false
alarms when the noise is correlated, as that of step times is).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from holter.detectors.throughput.onset import Onset, onset_of
from holter.types import FloatArray, IntArray

BLOCK = 8
"""Points in a block: its median stands up to three slow points."""
_REMEMBERED = 2048
_SETTLED, _SLOWEST = 32, 64
_SHORT, _LONG = 2, 8
_RISE = {_SHORT: 6.0, _LONG: 5.0}
"""Blocks looked at together, and the rise asked for in units of what they wander by themselves."""
_ESTABLISHED_BLOCKS, _ESTABLISHED_STEPS = 8, 300


@dataclass
class Departure:
    """A rise above the established level; `start`, `detected`, `worst`, `end` index points of the series.

    `end` is None while it lasts; `rise` is the largest level reached above `reference` so far.
    """

    start: int
    detected: int
    reference: float
    noise: float
    gradual: bool
    rise: float
    worst: int
    end: int | None = None


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Medians [b] of consecutive points that belong together; `first` and `last` index the points."""

    first: IntArray
    last: IntArray
    median: FloatArray
    group: IntArray


def blocks_of(values: FloatArray, stretch: IntArray, group: IntArray) -> Blocks:
    """Whole blocks within each stretch of equal numbers [n]; `group` says what may be compared.

    Stretches with a negative number are left out.
    """
    edges = np.flatnonzero(np.diff(stretch)) + 1
    starts, ends = np.append(0, edges), np.append(edges, len(stretch))
    firsts = [
        np.arange(start, end - BLOCK + 1, BLOCK)
        for start, end in zip(starts, ends, strict=True)
        if end - start >= BLOCK and stretch[start] >= 0
    ]
    first = np.concatenate(firsts) if firsts else np.empty(0, dtype=np.int64)
    median = np.median(values[first[:, None] + np.arange(BLOCK)], axis=1) if len(first) else np.empty(0)
    return Blocks(first=first, last=first + BLOCK - 1, median=median, group=group[first])


def _trailing(blocks: Blocks, scale: int) -> FloatArray:
    """What the last `scale` blocks of each block's group show: their median, of two the lower one.

    Both of two: one slow block is no new level. NaN where there are fewer.
    """
    shown = np.full(len(blocks.median), np.nan)
    for group in np.unique(blocks.group).tolist():
        mine = np.flatnonzero(blocks.group == group)
        if len(mine) >= scale:
            windows = sliding_window_view(blocks.median[mine], scale)
            place = 0 if scale == _SHORT else scale // 2
            shown[mine[scale - 1 :]] = np.partition(windows, place, axis=1)[:, place]
    return shown


class _Spread:
    """The last so many numbers in order, for their quantiles."""

    def __init__(self) -> None:
        self._ordered: list[float] = []
        self._queue: deque[float] = deque()

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, value: float) -> None:
        insort(self._ordered, value)
        self._queue.append(value)
        if len(self._queue) > _REMEMBERED:
            del self._ordered[bisect_left(self._ordered, self._queue.popleft())]

    def quantile(self, share: float) -> float:
        return self._ordered[int(share * (len(self._ordered) - 1))]

    def noise(self) -> float:
        # quartiles: a quarter of the blocks may be slow without widening it; wider while little is known
        return (self.quantile(0.75) - self.quantile(0.25)) / 1.349 * (1 + 8 / len(self._ordered))


class _Level:
    """What is established in one group, and the departure from it that is going on."""

    def __init__(self) -> None:
        self.spreads = {scale: _Spread() for scale in (1, *_RISE)}
        self.blocks: list[int] = []
        self.learnt = 0
        self.departure: Departure | None = None
        self.latest: Departure | None = None

    @property
    def reference(self) -> float:
        return self.spreads[1].quantile(0.5)


@dataclass
class Watch:
    """Looks at one block after the other, and remembers what is established in each group.

    `smallest` is the least rise worth a word. A departure is spoken at the last point of a block and
    rests on points up to there; it ends when the level is back by more than half of the rise. A rise
    soon after the end of one is the same one going on. A level that stays becomes established itself:
    a further rise from there is another departure.
    """

    values: FloatArray
    step: IntArray
    blocks: Blocks
    smallest: float
    sensitivity: float = 1.0
    departures: list[Departure] = field(default_factory=list)
    _levels: dict[int, list[_Level]] = field(default_factory=dict)
    _median: list[float] = field(default_factory=list)
    _scaled: dict[int, list[float]] = field(default_factory=dict)

    def look_at_all(self) -> list[Departure]:
        """Every departure, in the order of their detection."""
        self._median = self.blocks.median.tolist()
        self._scaled = {scale: _trailing(self.blocks, scale).tolist() for scale in _RISE}
        for index, group in enumerate(self.blocks.group.tolist()):
            levels = self._levels.setdefault(group, [_Level()])
            levels[-1].blocks.append(index)
            self._return(levels)
            self._look(levels[-1])
            self._settle(levels)
        return self.departures

    def _return(self, levels: list[_Level]) -> None:
        """End what is back for more than half of its rise, however many levels it had settled on."""
        if len(levels) == 1 and levels[0].departure is None:
            return
        recent = levels[-1].blocks[-_SHORT:]
        highest = max(self._median[index] for index in recent)
        late = self._median_of(levels[-1].blocks[-_LONG:])
        for depth, level in enumerate(levels):
            departure = level.departure
            if departure is None:
                continue
            if late - departure.reference > departure.rise:
                departure.rise = late - departure.reference
                departure.worst = int(self.blocks.last[recent[-1]])
            if highest < departure.reference + 0.5 * departure.rise:
                departure.end = int(self.blocks.first[recent[0]])
                level.departure, level.latest = None, departure
                # what was seen during the departure is no part of what is established
                level.blocks, level.learnt = list(recent), 0
                del levels[depth + 1 :]
                return

    def _look(self, level: _Level) -> None:
        if level.departure is not None:
            return
        if self._established(level) and self._departs(level):
            self._speak(level)
        else:
            self._learn(level)

    def _learn(self, level: _Level) -> None:
        # a block waits before it counts as established: the beginning of a slow rise must not
        wait = min(max(_LONG, len(level.spreads[1]) // 2), _SLOWEST)
        while level.learnt < len(level.blocks) - wait:
            level.learnt += 1
            level.spreads[1].add(self._median[level.blocks[level.learnt - 1]])
            for scale in _RISE:
                level.spreads[scale].add(self._at_scale(level, level.learnt, scale))

    def _established(self, level: _Level) -> bool:
        steps = self.step[self.blocks.last[level.blocks[-1]]] - self.step[self.blocks.first[level.blocks[0]]]
        return len(level.spreads[1]) >= _ESTABLISHED_BLOCKS and steps >= _ESTABLISHED_STEPS

    def _at_scale(self, level: _Level, count: int, scale: int) -> float:
        """What the first `count` blocks of the level show of late, at one scale."""
        if count >= scale:
            return self._scaled[scale][level.blocks[count - 1]]
        return self._median_of(level.blocks[:count])

    def _median_of(self, blocks: Sequence[int]) -> float:
        ordered = sorted([self._median[index] for index in blocks])
        return ordered[len(ordered) // 2]

    def _departs(self, level: _Level) -> bool:
        reference = level.reference
        for scale, asked in _RISE.items():
            rise = (self._at_scale(level, len(level.blocks), scale) - reference) * self.sensitivity
            if rise > self.smallest:
                spread = level.spreads[scale]
                if rise > max(asked * spread.noise(), spread.quantile(0.97) - reference):
                    return True
        return False

    def _speak(self, level: _Level) -> None:
        now, latest = level.blocks[-1], level.latest
        onset = self._onset(level)
        if latest is not None and latest.end is not None:
            gap, length = onset.point - latest.end, latest.end - latest.start
            if gap <= max(_SLOWEST * BLOCK, length):
                latest.end, level.departure = None, latest
                return
        height = self._at_scale(level, len(level.blocks), _SHORT) - level.reference
        level.departure = Departure(
            start=onset.point,
            detected=int(self.blocks.last[now]),
            reference=level.reference,
            noise=level.spreads[_SHORT].noise(),
            gradual=onset.gradual,
            rise=max(height, self.smallest),
            worst=int(self.blocks.last[now]),
        )
        self.departures.append(level.departure)

    def _onset(self, level: _Level) -> Onset:
        return onset_of(self.values, self.blocks.first[level.blocks[-_REMEMBERED:]], BLOCK, level.reference)

    def _settle(self, levels: list[_Level]) -> None:
        """Take the level of late as established where it has stayed long enough: higher, or lower."""
        level = levels[-1]
        # the longer a level has been the usual one, the longer a new one must stay
        long_enough = min(max(_SETTLED, len(level.spreads[1]) // 4), _REMEMBERED // 8)
        if len(level.blocks) < long_enough or len(level.blocks) % _SETTLED or not level.learnt:
            return
        late = level.blocks[-long_enough:]
        ordered = sorted(self._median[index] for index in late)
        low, high = ordered[long_enough // 8], ordered[-long_enough // 8]
        wander = max(self.smallest, 3 * level.spreads[_SHORT].noise())
        if level.departure is not None and level.departure.start < self.blocks.first[late[0]]:
            earlier, later = late[: long_enough // 2], late[long_enough // 2 :]
            still_rising = self._median_of(later) - self._median_of(earlier) > wander / 4
            if high - low < wander and not still_rising:
                levels.append(self._anew(late))
        elif level.departure is None and high < level.reference - wander:
            levels[-1] = self._anew(late)

    def _anew(self, blocks: Sequence[int]) -> _Level:
        level = _Level()
        for index in blocks:
            level.blocks.append(index)
            self._look(level)
        return level
