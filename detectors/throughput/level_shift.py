"""Detects lasting rises of a quantity above the level that it has established in a run.

The series is cut into blocks of a few points, whose medians tolerate pauses and single stalls. The
established level and its natural variation are learned from the blocks so far, so that the required rise
grows with the noise of the series itself. Rules with a fixed allowance raise false alarms where noise is
correlated, as that of step times is.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import isnan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.detectors.positions import RowPosition
from holter.detectors.robust_statistics import highest_median
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import QUARTERS_APART, BlockThresholds, MedianBlock
from holter.detectors.throughput.onset import OnsetThresholds, PointsOf, ShiftOnset, find_onset
from holter.detectors.throughput.usual_spells import (
    UsualSpellThresholds,
    longest_by_chance,
    spell_lengths,
)
from holter.types import FloatArray


@dataclass(frozen=True, kw_only=True)
class LevelShiftThresholds(Thresholds):
    """When a level counts as established, and when a rise above it is reported."""

    blocks: BlockThresholds = BlockThresholds()
    """The blocks that a series is cut into."""
    onset: OnsetThresholds = OnsetThresholds()
    """How the onset of a rise is located."""
    spells: UsualSpellThresholds = UsualSpellThresholds()
    """The spells that belong to the established level."""
    memory_blocks: int = 2048
    """Blocks. The variation of a level is learned from the latest ones."""
    short_rise: float = 6.0
    """Robust deviations of the short window that a rise must exceed."""
    long_rise: float = 5.0
    """Robust deviations of the long window that a rise must exceed."""
    lasting_rise: float = 5.0
    """Robust deviations of the lasting window that a rise must exceed."""
    highest_quantile: float = 0.97
    """Quantile of the established blocks that a rise must exceed, too."""
    established_blocks: int = 5
    """Blocks. A level is established after this many have been learned (the noise of so few counts for more
    than twice of what they show)..."""
    established_steps: int = 300
    """Steps. ... that span this much: shorter beginnings are warm-up."""
    longest_wait_blocks: int = 64
    """Blocks. A block waits at most this long before it is learned: the beginning of a slow rise must not be.
    """
    settled_blocks: int = 32
    """Blocks. A new level that holds for at least this long becomes established itself."""
    settled_spreads: float = 3.0
    """Robust deviations within which a level counts as unchanged while it settles."""
    return_share: float = 0.5
    """Share of the sustained rise. A shift ends when the level is back below it."""
    median_errors: float = 4.0
    """Standard errors that a rise over a lasting window must exceed, by the chance that they have in normal
    noise: of windows that are so long, few are known, and of steps that take one of several times, the median
    is one of those for a while."""
    few_blocks: int = 64
    """Blocks. While fewer are known, the outer tenths count for the noise as well as the quartiles: levels
    that alternate, as sequence-length buckets do, leave the quartiles without any spread."""
    long_spells: int = 64
    """Spells. Of those that are over and no part of the variation of a level, the latest so many are known.
    """
    as_much_again: float = 2.0
    """Times the rise of a shift. A return that settles this much higher, and a run that becomes slower by as
    much within a shift, are events of their own."""
    costlier_factor: float = 4.0
    """Times. Returns of a shift are one event until one costs this many times as much as the longest before.
    """


UNKNOWN_STEPS = 2**62
"""A number of steps that is not known: more than any other."""


class LevelShift(NamedTuple):
    """A rise above the established level `reference`; `end` is None while it lasts.

    `rise` is the highest level above the reference so far, `sustained` the highest one below which no block
    of the long window was: spells on top of a shift do not raise it. `noise` is the variation of the
    established level, `longest` the steps of the longest spell of the shift so far, and `before` the steps
    for which the run had been faster before the first spell; `UNKNOWN_STEPS` across attempts. `usual_spells`
    are the steps of earlier spells that belong to the established level itself, and were half as slow as
    `usual_rise` or slower.
    """

    start: RowPosition
    detected: RowPosition
    reference: float
    noise: float
    gradual: bool
    rise: float
    worst: RowPosition
    longest: int
    before: int
    end: RowPosition | None = None
    sustained: float = 0.0
    usual_rise: float = 0.0
    usual_spells: tuple[int, ...] = ()


_FEW_UNORDERED = 256
"""Numbers up to which inserting each into thousands takes less time than sorting all."""


_MOST_UNREAD = 512
"""Blocks after which a level takes up what it has learned, so that the state of a scan stays small."""


class _RollingQuantiles:
    """The latest numbers, put in order once a quantile is needed: those of most windows hardly ever are.

    `_queue` has them in the order in which they were added, the last `_unordered` of them not in `_ordered`.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._queue: deque[float] = deque()
        self._ordered: list[float] = []
        self._unordered = 0

    def __len__(self) -> int:
        return min(len(self._queue), self._memory)

    def copy(self) -> _RollingQuantiles:
        other = _RollingQuantiles(self._memory)
        other._queue, other._ordered = self._queue.copy(), self._ordered.copy()
        other._unordered = self._unordered
        return other

    def extend(self, values: Sequence[float]) -> None:
        self._queue.extend(values)
        self._unordered += len(values)
        if self._unordered > self._memory // 4:
            self._order()

    def _order(self) -> None:
        ordered, queue = self._ordered, self._queue
        if self._unordered > _FEW_UNORDERED:
            for _ in range(len(queue) - self._memory):
                queue.popleft()
            self._ordered = sorted(queue)
        else:
            for index in range(-self._unordered, 0):
                insort(ordered, queue[index])
            while len(queue) > self._memory:
                del ordered[bisect_left(ordered, queue.popleft())]
        self._unordered = 0

    def in_order(self) -> FloatArray:
        """The numbers in the order in which they were added."""
        return np.array(self._queue)[-self._memory :]

    def quantile(self, share: float) -> float:
        if self._unordered:
            self._order()
        return self._ordered[int(share * (len(self._ordered) - 1))]

    def noise(self, few: int) -> float:
        """The robust standard deviation."""
        # quartiles: a quarter of the blocks may be slow without widening it; wider while few are known
        noise = (self.quantile(0.75) - self.quantile(0.25)) / 1.349
        known = len(self._ordered)
        if known < few:
            noise = max(noise, (self.quantile(0.9) - self.quantile(0.1)) / 2.563)
        return noise * (1 + 8 / known)


class _LatestNumbers:
    """The latest numbers in order, to be compared all at once."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._values = array("d")

    def copy(self) -> _LatestNumbers:
        other = _LatestNumbers(self._memory)
        other._values = self._values[:]
        return other

    def extend(self, values: Iterable[float]) -> None:
        self._values.extend(values)
        if len(self._values) > 2 * self._memory:
            del self._values[: -self._memory]

    def moved(self, by: float) -> list[float]:
        """All of them, higher by so much."""
        return [value + by for value in self._values[-self._memory :]]

    def least_step(self) -> float:
        """The least distance of two different ones; 0 where all are equal."""
        if not self._values:
            return 0.0
        steps = np.diff(np.sort(np.frombuffer(self._values)[-self._memory :]))
        return float(steps.min(where=steps > 0, initial=np.inf)) if steps.any() else 0.0

    def above(self, least: float) -> NDArray[np.bool_]:
        """Which of them are above `least`."""
        if not self._values:
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(np.frombuffer(self._values)[-self._memory :] > least)


class _EstablishedLevel:
    """The established level of one group, and the index of the active shift from it.

    `blocks` are the latest of `count` in all, the first of which began at step `since`. `again` holds the
    onset of a shift that has returned and its state before; `longest` is the length of its longest spell so
    far, in points. `left` are the levels that the group had established before, each with the step at which
    it left it, and `slow_steps` the steps of the `returns` shifts from this level that are over.
    `long_spells` are the height and the steps of the latest of those whose blocks are no part of the
    variation, also from levels before.
    """

    def __init__(self, limits: LevelShiftThresholds, left: tuple[tuple[float, int], ...] = ()) -> None:
        self._limits = limits
        self.left = left
        self._short, self._long = limits.blocks.short_window, limits.blocks.long_window
        self._lasting = limits.blocks.lasting_window
        memory, windows = limits.memory_blocks, (1, self._short, self._long, self._lasting)
        self._variation = {window: _RollingQuantiles(memory) for window in windows}
        self._medians = self._variation[1]
        self._spread = _RollingQuantiles(memory)
        self._spells = {window: _LatestNumbers(memory) for window in windows}
        self._unread: list[MedianBlock] = []
        self.blocks: list[MedianBlock] = []
        self.count = 0
        self.since = 0
        self.learned = 0
        self.shift: int | None = None
        self.latest: int | None = None
        self.again: tuple[ShiftOnset, LevelShift] | None = None
        self.longest = 0
        self.returns = 0
        self.slow_steps = 0
        self.long_spells: tuple[tuple[float, int], ...] = ()

    @property
    def known_blocks(self) -> int:
        """How many of the blocks learned are remembered."""
        return len(self._medians)

    @property
    def reference(self) -> float:
        return self._medians.quantile(0.5)

    @property
    def upper_reference(self) -> float:
        """The usual third largest point of a block."""
        return self.reference + self.spread.quantile(0.5) * QUARTERS_APART / 2

    @property
    def spread(self) -> _RollingQuantiles:
        """The spreads of the points in a block."""
        if self._unread:
            self._read()
        return self._spread

    def variation(self, window: int) -> _RollingQuantiles:
        """The levels over windows of so many blocks."""
        if self._unread:
            self._read()
        return self._variation[window]

    def spells(self, window: int) -> _LatestNumbers:
        """The same in order, with those at levels before; of the short window the third largest points of
        the blocks."""
        if self._unread:
            self._read()
        return self._spells[window]

    def noise(self, window: int) -> float:
        """The noise of a window of blocks: as measured, at least that of the points themselves."""
        # medians of values that cluster, as sequence-length buckets do, may repeat for a while by chance
        points = window * self._limits.blocks.points
        least = 1.25 * self.spread.quantile(0.5) / points**0.5 if len(self.spread) else 0.0
        return max(self.variation(window).noise(self._limits.few_blocks), least)

    def copy(self) -> _EstablishedLevel:
        other = object.__new__(_EstablishedLevel)  # a new one would make queues that are replaced here
        other.__dict__ |= self.__dict__
        other._variation = {window: quantiles.copy() for window, quantiles in self._variation.items()}
        other._medians = other._variation[1]
        other.blocks, other._spread = self.blocks.copy(), self._spread.copy()
        other._spells = {window: levels.copy() for window, levels in self._spells.items()}
        other._unread = self._unread.copy()
        return other

    def begin(self, blocks: Sequence[MedianBlock]) -> None:
        """Start again with these blocks."""
        self.blocks, self.count, self.learned = list(blocks), len(blocks), 0
        self.since = blocks[0].first_step

    def append(self, block: MedianBlock) -> None:
        if not self.count:
            self.since = block.first_step
        self.blocks.append(block)
        self.count += 1
        memory = self._limits.memory_blocks
        if len(self.blocks) > memory + memory // 4:
            del self.blocks[:-memory]

    def level_at(self, count: int, window: int) -> float:
        """The level after the first `count` blocks, over a window of the latest ones."""
        upto = len(self.blocks) - (self.count - count)
        if window == self._lasting:
            return self.blocks[upto - 1].lasting
        if count >= window:
            block = self.blocks[upto - 1]
            return block.median if window == 1 else block.short if window == self._short else block.long
        return _upper_median(self.blocks[:upto])

    def learn(self, count: int) -> None:
        """Add the level after the first `count` blocks to the established variation."""
        self.learned = count
        block = self.blocks[count - self.count - 1]
        if count < self._long:
            short, long = self.level_at(count, self._short), self.level_at(count, self._long)
            block = block._replace(short=short, long=long)
        self._medians.extend((block.median,))
        self._unread.append(block)
        if len(self._unread) >= _MOST_UNREAD:
            self._read()

    def _read(self) -> None:
        """Take up what was learned, but for the medians, which are: most of it hardly ever matters."""
        blocks, self._unread = self._unread, []
        self._spread.extend([block.spread for block in blocks])
        short = [block.short for block in blocks]
        long = [block.long for block in blocks]
        lasting = [block.lasting for block in blocks if not isnan(block.lasting)]
        self._variation[self._short].extend(short)
        self._variation[self._long].extend(long)
        self._variation[self._lasting].extend(lasting)
        self._spells[1].extend([block.median for block in blocks])
        self._spells[self._short].extend([block.upper for block in blocks])
        self._spells[self._long].extend(long)
        self._spells[self._lasting].extend(lasting)

    def inherit_spells(self, before: _EstablishedLevel, moved: float) -> None:
        """Take over the spells of the level before: they are as high above this one."""
        for window, levels in self._spells.items():
            levels.extend(before.spells(window).moved(moved))
        self.long_spells = before.long_spells


def _upper_median(blocks: Sequence[MedianBlock]) -> float:
    ordered = sorted([block.median for block in blocks])
    return ordered[len(ordered) // 2]


def _spells_above(level: _EstablishedLevel, slow: float) -> tuple[int, ...]:
    """The steps of the spells in which the blocks of an established level were slower than this."""
    is_slow = np.concatenate(([False], level.spells(1).above(slow), [False]))
    begins, ends = np.flatnonzero(np.diff(is_slow.astype(np.int8))).reshape(-1, 2).T
    now = level.blocks[-1]
    block_steps = (
        (now.last_step - now.first_step) * (now.last - now.first + 1) // max(now.last - now.first, 1)
    )
    return tuple(((ends - begins) * block_steps).tolist())


def _steps_between(first: RowPosition, last: RowPosition) -> int:
    return last.step - first.step if first.attempt == last.attempt else UNKNOWN_STEPS


class LevelShiftScan:
    """Scans blocks in order, and learns the established level of each group.

    `smallest` is the smallest rise that is reported. A shift is detected at the last point of a block, from
    points up to there; it ends when the level is back by more than half of the sustained rise. A rise
    after a pause that is shorter than the shift continues it. A level that holds becomes established itself:
    a further rise from there is another shift. A rise that may be one of the run's usual short spells is
    none. `shifts` are in the order of their detection.
    """

    def __init__(self, *, smallest: float, sensitivity: float, limits: LevelShiftThresholds) -> None:
        self.shifts: list[LevelShift] = []
        self._smallest = smallest
        self._sensitivity = sensitivity
        self._limits = limits
        self._short, self._long = limits.blocks.short_window, limits.blocks.long_window
        self._required = (
            (self._short, limits.short_rise),
            (self._long, limits.long_rise),
            (limits.blocks.lasting_window, limits.lasting_rise),
        )
        self._first_step: int | None = None
        self._levels: dict[int, list[_EstablishedLevel]] = {}

    def copy(self) -> LevelShiftScan:
        """An independent copy that can be continued."""
        other = LevelShiftScan(smallest=self._smallest, sensitivity=self._sensitivity, limits=self._limits)
        other.shifts, other._first_step = self.shifts.copy(), self._first_step
        other._levels = {group: [level.copy() for level in levels] for group, levels in self._levels.items()}
        return other

    def scan(self, blocks: Iterable[MedianBlock], points: PointsOf) -> None:
        """Scan the blocks that follow."""
        for block in blocks:
            if self._first_step is None:
                self._first_step = block.first_step
            levels = self._levels.get(block.group)
            if levels is None:
                levels = self._levels[block.group] = [_EstablishedLevel(self._limits)]
            levels[-1].append(block)
            if len(levels) > 1 or levels[0].shift is not None:
                self._end_shifts(levels)
            if levels[-1].shift is not None:
                self._separate_larger(levels, levels[-1].shift, points)
            self._detect(levels[-1], points)
            self._settle(levels, points)

    def _end_shifts(self, levels: list[_EstablishedLevel]) -> None:
        """End the shift that is back by more than half of its rise, even if new levels were established."""
        blocks = levels[-1].blocks
        recent = blocks[-self._short :]
        highest = max(block.median for block in recent)
        late = _upper_median(blocks[-self._long :])
        lowest = min(block.median for block in blocks[-self._long :])
        for depth, level in enumerate(levels):
            if level.shift is None:
                continue
            shift = self.shifts[level.shift]
            deeper = depth + 1 < len(levels) and levels[depth + 1].shift is not None
            # what is slower still is a shift of its own
            if late - shift.reference > shift.rise and not deeper:
                shift = shift._replace(rise=late - shift.reference, worst=recent[-1].end)
            if len(blocks) >= self._long and lowest - shift.reference > shift.sustained and not deeper:
                shift = shift._replace(sustained=lowest - shift.reference)
            back = highest < shift.reference + self._limits.return_share * shift.sustained
            begin = level.again[0].at if level.again else shift.start
            length = (recent[0].first if back else recent[-1].last) - begin.row
            steps = _steps_between(begin, recent[0].begin if back else recent[-1].end)
            end = recent[0].begin if back else None
            longest = shift.longest if deeper and not back else max(shift.longest, steps)
            shift = shift._replace(longest=longest, end=end)
            self.shifts[level.shift] = shift
            if back:
                level.longest = max(level.longest, length)
                level.shift, level.latest, level.again = None, level.shift, None
                self._learn_spell(level, shift, length, steps, is_settled=depth + 1 < len(levels))
                level.begin(recent)
                level.left += tuple((held.reference, recent[0].first_step) for held in levels[depth + 1 :])
                del levels[depth + 1 :]
                return
            self._separate_costlier(level, shift, late)

    def _learn_spell(
        self, level: _EstablishedLevel, shift: LevelShift, length: int, steps: int, *, is_settled: bool
    ) -> None:
        """Learn from a shift that is over, of `length` points, how slow the run is at times and for how long.

        Its blocks are no part of the established level, unless it was short or such shifts come and go; those
        at a level that has settled are not known any more.
        """
        level.returns += 1
        if steps < UNKNOWN_STEPS:
            level.slow_steps += steps
        is_short = length <= self._limits.spells.longest_blocks * self._limits.blocks.points
        if is_settled or (level.returns == 1 and not is_short):
            level.long_spells = (*level.long_spells[1 - self._limits.long_spells :], (shift.sustained, steps))
            return
        for count in range(max(level.learned, level.count - len(level.blocks)) + 1, level.count + 1):
            level.learn(count)

    def _separate_larger(self, levels: list[_EstablishedLevel], active: int, points: PointsOf) -> None:
        """Open a shift from the level of the active shift, where the run loses as much again at once.

        `active` is the index of that shift. The spells of the run are as high above the level of a shift as
        above the one before.
        """
        level, shift, short = levels[-1], self.shifts[active], self._short
        begin = (level.again[0].at if level.again else shift.start).row
        # the block in which the shift begins is between both levels, and so may be the last one before
        lasting = [block for block in level.blocks[:-short] if block.first > begin][:-1]
        if len(lasting) < self._long:
            return
        held = _upper_median(lasting) - level.reference
        rise = (level.level_at(level.count, short) - level.reference - held) * self._sensitivity
        noise = level.noise(short)
        larger = (self._limits.as_much_again - 1) * held
        if rise <= max(larger, self._smallest, self._limits.short_rise * noise):
            return
        if self._holds(lasting, noise) and not self._is_usual(level, short, rise, above=held):
            levels.append(self._establish(level, lasting, points))
            for block in level.blocks[-short - 1 :]:
                levels[-1].append(block)
            self._open_shift(levels[-1], points)
            level.blocks = []  # when the level returns here, it begins with other blocks

    def _holds(self, blocks: Sequence[MedianBlock], noise: float) -> bool:
        """Whether blocks are at one level: neither apart nor still rising."""
        ordered = sorted(block.median for block in blocks)
        low, high = ordered[len(blocks) // 8], ordered[-len(blocks) // 8]
        tolerance = max(self._smallest, self._limits.settled_spreads * noise)
        earlier, later = blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]
        still_rising = _upper_median(later) - _upper_median(earlier) > tolerance / 4
        return high - low < tolerance and not still_rising

    def _separate_costlier(self, level: _EstablishedLevel, shift: LevelShift, late: float) -> None:
        """Make the return of a shift a shift of its own where it costs far more than those before it."""
        # a shift that has settled at its new level has no blocks of its own any more
        if level.again is None or level.shift is None or not level.blocks:
            return
        onset, earlier = level.again
        length, rise = level.blocks[-1].last - onset.at.row, late - shift.reference
        shortest = self._long * self._limits.blocks.points
        if length >= shortest and length * rise >= (
            self._limits.costlier_factor * level.longest * earlier.rise
        ):
            self._separate_return(level, shift, rise)

    def _separate_return(self, level: _EstablishedLevel, shift: LevelShift, rise: float) -> None:
        """Make the return of a shift a shift of its own."""
        assert level.again is not None
        assert level.shift is not None
        now, (onset, earlier) = level.blocks[-1], level.again
        self.shifts[level.shift] = earlier
        level.shift, level.again, level.longest = len(self.shifts), None, 0
        self.shifts.append(
            shift._replace(
                start=onset.at,
                detected=now.end,
                gradual=onset.gradual,
                rise=rise,
                sustained=rise,
                worst=now.end,
                longest=_steps_between(onset.at, now.end),
                before=self._faster_before(onset.at, level, shift.reference + rise),
            )
        )

    def _detect(self, level: _EstablishedLevel, points: PointsOf) -> None:
        if level.shift is not None:
            return
        if self._is_established(level) and self._is_shifted(level):
            self._open_shift(level, points)
        else:
            self._learn(level)

    def _learn(self, level: _EstablishedLevel) -> None:
        # a block waits before it counts as established: the beginning of a slow rise must not
        wait = min(max(self._short, level.known_blocks // 2), self._limits.longest_wait_blocks)
        for count in range(level.learned + 1, level.count - wait + 1):
            level.learn(count)

    def _is_established(self, level: _EstablishedLevel) -> bool:
        steps = level.blocks[-1].last_step - level.since
        limits = self._limits
        return level.known_blocks >= limits.established_blocks and steps >= limits.established_steps

    def _is_shifted(self, level: _EstablishedLevel) -> bool:
        reference = level.reference
        for window, required in self._required:
            rise = (level.level_at(level.count, window) - reference) * self._sensitivity
            if rise > self._smallest:
                variation = level.variation(window)
                # overlapping windows resemble each other: a few full ones at least show how they vary
                if window == self._limits.blocks.lasting_window and len(variation) < 4 * window:
                    continue
                highest = variation.quantile(self._limits.highest_quantile)
                if rise > highest - reference and rise > required * level.noise(window):
                    is_usual = self._is_usual(level, window, rise)
                    return not is_usual and not (
                        self._may_be_chance(level, window, rise) or self._may_be_rounding(level, window, rise)
                    )
        return False

    def _is_usual(self, level: _EstablishedLevel, window: int, rise: float, above: float = 0.0) -> bool:
        """Whether the run may be in one of the short spells that its established level has shown.

        Slow is what is above half of the rise: lower spells say nothing about one so high. `above`: how far
        above the established level the rise began.
        """
        height = self._limits.return_share * rise / self._sensitivity
        if window == self._short:
            slow, name = level.upper_reference + height, "upper"
        else:
            slow, name = level.reference + height, "long" if window == self._long else "lasting"
        longest = longest_by_chance(spell_lengths(level.spells(window).above(slow)), self._limits.spells)
        latest = (getattr(block, name) - above > slow for block in reversed(level.blocks))
        return bool(longest) and sum(takewhile(bool, latest)) <= longest

    def _may_be_chance(self, level: _EstablishedLevel, window: int, rise: float) -> bool:
        """Whether blocks as they have been may have their median over a long window so high by chance."""
        if window < self._limits.blocks.lasting_window:
            return False
        blocks = level.variation(1).in_order()
        highest = highest_median(blocks, window, self._limits.median_errors)
        return rise <= highest - level.reference

    def _may_be_rounding(self, level: _EstablishedLevel, window: int, rise: float) -> bool:
        """Whether the smallest rise is exceeded only as a level that hardly moves rounds to the next value:
        where the noise is smaller than the distance of the values."""
        rounding = level.spells(self._short).least_step()
        return level.noise(window) < rounding and rise - rounding <= self._smallest

    def _open_shift(self, level: _EstablishedLevel, points: PointsOf) -> None:
        now = level.blocks[-1]
        memory = self._limits.memory_blocks
        onset = find_onset(
            level.blocks[-memory:], level.reference, level.noise(1), points, self._limits.onset
        )
        height = level.level_at(level.count, self._short) - level.reference
        if level.latest is not None:
            latest = self.shifts[level.latest]
            assert latest.end is not None
            gap, length = onset.at.row - latest.end.row, latest.end.row - latest.start.row
            within = onset.at.attempt == latest.end.attempt
            # a pause shorter than the slow-down is a part of it, and the shortest that can be seen is none
            if within and gap <= length:
                is_pause = gap > self._limits.blocks.short_window * self._limits.blocks.points
                self.shifts[level.latest] = latest._replace(end=None)
                level.shift, level.again = level.latest, (onset, latest) if is_pause else None
                return
        level.shift, level.longest = len(self.shifts), 0
        self.shifts.append(
            LevelShift(
                start=onset.at,
                detected=now.end,
                reference=level.reference,
                noise=level.noise(self._short),
                gradual=onset.gradual,
                rise=max(height, self._smallest),
                sustained=max(height, self._smallest / self._sensitivity),
                worst=now.end,
                longest=_steps_between(onset.at, now.end),
                before=self._faster_before(onset.at, level, level.reference + height),
                usual_rise=height,
                usual_spells=(
                    *_spells_above(level, level.reference + self._limits.return_share * height),
                    *(steps for held, steps in level.long_spells if held + self._smallest > height),
                ),
            )
        )

    def _faster_before(self, onset: RowPosition, level: _EstablishedLevel, slow: float) -> int:
        """The steps before an onset for which the run had been faster than a level."""
        if onset.attempt > 0:
            return UNKNOWN_STEPS
        as_slow = (left_at for held, left_at in level.left if held + self._smallest > slow)
        return onset.step - level.slow_steps - max(as_slow, default=self._first_step or 0)

    def _settle(self, levels: list[_EstablishedLevel], points: PointsOf) -> None:
        """Establish the latest level where it has held long enough, higher or lower than before."""
        level, limits = levels[-1], self._limits
        if level.count % limits.settled_blocks or not level.learned:
            return
        # the longer a level has been established, the longer a new one must hold
        required = min(max(limits.settled_blocks, level.known_blocks // 4), limits.memory_blocks // 8)
        if level.count < required:
            return
        late = level.blocks[-required:]
        if level.shift is None:
            lower = level.reference - sorted(block.median for block in late)[-required // 8]
            if lower > self._smallest and lower > limits.settled_spreads * level.noise(self._short):
                levels[-1] = self._establish(level, late, points)
        elif self.shifts[level.shift].start.row < late[0].first and self._holds(
            late, level.noise(self._short)
        ):
            rise = _upper_median(late) - level.reference
            if level.again and rise >= limits.as_much_again * level.again[1].rise:
                self._separate_return(level, self.shifts[level.shift], rise)
            levels.append(self._establish(level, late, points))
            level.blocks = []  # when the level returns here, it begins with other blocks

    def _establish(
        self, before: _EstablishedLevel, blocks: Sequence[MedianBlock], points: PointsOf
    ) -> _EstablishedLevel:
        left = (*before.left, (before.reference, blocks[0].first_step))
        level = _EstablishedLevel(self._limits, left)
        level.inherit_spells(before, _upper_median(blocks) - before.reference)
        known = len(self.shifts)
        for block in blocks:
            level.append(block)
            if level.shift is not None:
                self._end_shifts([level])
            self._detect(level, points)
        # what these blocks show is known only now that their level is
        now = blocks[-1].end
        self.shifts[known:] = [shift._replace(detected=now) for shift in self.shifts[known:]]
        return level
