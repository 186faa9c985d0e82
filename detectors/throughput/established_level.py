"""The level that a quantity has established in a run, its variation, and the shifts above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

import numpy as np

from holter.detectors.positions import RowPosition
from holter.detectors.thresholds import Thresholds
from holter.detectors.throughput.block_medians import QUARTERS_APART, BlockThresholds, MedianBlock
from holter.detectors.throughput.latest_numbers import LatestNumbers, RollingQuantiles
from holter.detectors.throughput.onset import OnsetThresholds, ShiftOnset
from holter.detectors.throughput.usual_spells import UsualSpellThresholds


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
    held: float = 0.0
    is_held: bool = False
    usual_rise: float = 0.0
    usual_spells: tuple[int, ...] = ()


_MOST_UNREAD = 512
"""Blocks after which a level takes up what it has learned, so that the state of a scan stays small."""


class EstablishedLevel:
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
        self._variation = {window: RollingQuantiles(memory) for window in windows}
        self._medians = self._variation[1]
        self._spread = RollingQuantiles(memory)
        self._spells = {window: LatestNumbers(memory) for window in windows}
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
    def spread(self) -> RollingQuantiles:
        """The spreads of the points in a block."""
        if self._unread:
            self._read()
        return self._spread

    def variation(self, window: int) -> RollingQuantiles:
        """The levels over windows of so many blocks."""
        if self._unread:
            self._read()
        return self._variation[window]

    def spells(self, window: int) -> LatestNumbers:
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

    def copy(self) -> EstablishedLevel:
        other = object.__new__(EstablishedLevel)  # a new one would make queues that are replaced here
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
        return upper_median(self.blocks[:upto])

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

    def inherit_spells(self, before: EstablishedLevel, moved: float) -> None:
        """Take over the spells of the level before: they are as high above this one."""
        for window, levels in self._spells.items():
            levels.extend(before.spells(window).moved(moved))
        self.long_spells = before.long_spells


def upper_median(blocks: Sequence[MedianBlock]) -> float:
    ordered = sorted([block.median for block in blocks])
    return ordered[len(ordered) // 2]


def spells_above(level: EstablishedLevel, slow: float) -> tuple[int, ...]:
    """The steps of the spells in which the blocks of an established level were slower than this."""
    is_slow = np.concatenate(([False], level.spells(1).above(slow), [False]))
    begins, ends = np.flatnonzero(np.diff(is_slow.astype(np.int8))).reshape(-1, 2).T
    now = level.blocks[-1]
    block_steps = (
        (now.last_step - now.first_step) * (now.last - now.first + 1) // max(now.last - now.first, 1)
    )
    return tuple(((ends - begins) * block_steps).tolist())


def steps_between(first: RowPosition, last: RowPosition) -> int:
    return last.step - first.step if first.attempt == last.attempt else UNKNOWN_STEPS
