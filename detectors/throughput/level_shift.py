"""Detects lasting rises of a quantity above the level that it has established in a run.

The series is cut into blocks of a few points, whose medians tolerate pauses and single stalls. The
established level and its natural variation are learned from the blocks so far, so that the required rise
grows with the noise of the series itself. Rules with a fixed allowance raise false alarms where noise is
correlated, as that of step times is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

import numpy as np

from holter.detectors.positions import RowPosition
from holter.detectors.robust_statistics import highest_median
from holter.detectors.throughput.block_medians import MedianBlock
from holter.detectors.throughput.established_level import (
    UNKNOWN_STEPS,
    EstablishedLevel,
    LevelShift,
    LevelShiftThresholds,
    spells_above,
    steps_between,
    upper_median,
)
from holter.detectors.throughput.onset import PointsOf, find_onset, rises_gradually
from holter.detectors.throughput.usual_spells import longest_by_chance, spell_lengths


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
        self._levels: dict[int, list[EstablishedLevel]] = {}

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
                levels = self._levels[block.group] = [EstablishedLevel(self._limits)]
            levels[-1].append(block)
            if len(levels) > 1 or levels[0].shift is not None:
                self._end_shifts(levels)
            if levels[-1].shift is not None:
                self._separate_larger(levels, levels[-1].shift, points)
            self._detect(levels[-1], points)
            self._settle(levels, points)

    def _end_shifts(self, levels: list[EstablishedLevel]) -> None:
        """End the shift that is back by more than half of its rise, even if new levels were established."""
        blocks = levels[-1].blocks
        recent = blocks[-self._short :]
        highest = max(block.median for block in recent)
        late = upper_median(blocks[-self._long :])
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
            # detected within a spell, a shift seems higher than it is until it has lasted
            height = min(shift.sustained, shift.held) if shift.is_held else shift.sustained
            back = highest < shift.reference + self._limits.return_share * height
            if not back and not deeper:
                shift = self._with_shape(shift, blocks)
            begin = level.again[0].at if level.again else shift.start
            length = (recent[0].first if back else recent[-1].last) - begin.row
            steps = steps_between(begin, recent[0].begin if back else recent[-1].end)
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

    def _with_shape(self, shift: LevelShift, blocks: Sequence[MedianBlock]) -> LevelShift:
        """The shift with the level that it holds by now, and with its shape, of which its detection saw the
        first blocks only."""
        lasting, start = self._limits.blocks.lasting_window, shift.start.row
        if len(blocks) > lasting and blocks[-lasting - 1].first >= start:
            return shift._replace(held=max(shift.held, blocks[-1].lasting - shift.reference), is_held=True)
        since = [block.median - shift.reference for block in blocks[-lasting:] if block.first >= start]
        if not since:
            return shift
        gradual = shift.gradual
        if len(since) in (lasting // 2, lasting) and not gradual:
            gradual = rises_gradually(np.array(since), shift.noise, self._limits.onset)
        return shift._replace(held=sorted(since)[(len(since) - 1) // 2], gradual=gradual)

    def _learn_spell(
        self, level: EstablishedLevel, shift: LevelShift, length: int, steps: int, *, is_settled: bool
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

    def _separate_larger(self, levels: list[EstablishedLevel], active: int, points: PointsOf) -> None:
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
        held = upper_median(lasting) - level.reference
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
        still_rising = upper_median(later) - upper_median(earlier) > tolerance / 4
        return high - low < tolerance and not still_rising

    def _separate_costlier(self, level: EstablishedLevel, shift: LevelShift, late: float) -> None:
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

    def _separate_return(self, level: EstablishedLevel, shift: LevelShift, rise: float) -> None:
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
                longest=steps_between(onset.at, now.end),
                before=self._faster_before(onset.at, level, shift.reference + rise),
            )
        )

    def _detect(self, level: EstablishedLevel, points: PointsOf) -> None:
        if level.shift is not None:
            return
        if self._is_established(level) and self._is_shifted(level):
            self._open_shift(level, points)
        else:
            self._learn(level)

    def _learn(self, level: EstablishedLevel) -> None:
        # a block waits before it counts as established: the beginning of a slow rise must not
        wait = min(max(self._short, level.known_blocks // 2), self._limits.longest_wait_blocks)
        for count in range(level.learned + 1, level.count - wait + 1):
            level.learn(count)

    def _is_established(self, level: EstablishedLevel) -> bool:
        steps = level.blocks[-1].last_step - level.since
        limits = self._limits
        return level.known_blocks >= limits.established_blocks and steps >= limits.established_steps

    def _is_shifted(self, level: EstablishedLevel) -> bool:
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

    def _is_usual(self, level: EstablishedLevel, window: int, rise: float, above: float = 0.0) -> bool:
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

    def _may_be_chance(self, level: EstablishedLevel, window: int, rise: float) -> bool:
        """Whether blocks as they have been may have their median over a long window so high by chance."""
        if window < self._limits.blocks.lasting_window:
            return False
        blocks = level.variation(1).in_order()
        highest = highest_median(blocks, window, self._limits.median_errors)
        return rise <= highest - level.reference

    def _may_be_rounding(self, level: EstablishedLevel, window: int, rise: float) -> bool:
        """Whether the smallest rise is exceeded only as a level that hardly moves rounds to the next value:
        where the noise is smaller than the distance of the values."""
        rounding = level.spells(self._short).least_step()
        return level.noise(window) < rounding and rise - rounding <= self._smallest

    def _open_shift(self, level: EstablishedLevel, points: PointsOf) -> None:
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
                longest=steps_between(onset.at, now.end),
                before=self._faster_before(onset.at, level, level.reference + height),
                usual_rise=height,
                usual_spells=(
                    *spells_above(level, level.reference + self._limits.return_share * height),
                    *(steps for held, steps in level.long_spells if held + self._smallest > height),
                ),
            )
        )

    def _faster_before(self, onset: RowPosition, level: EstablishedLevel, slow: float) -> int:
        """The steps before an onset for which the run had been faster than a level."""
        if onset.attempt > 0:
            return UNKNOWN_STEPS
        as_slow = (left_at for held, left_at in level.left if held + self._smallest > slow)
        return onset.step - level.slow_steps - max(as_slow, default=self._first_step or 0)

    def _settle(self, levels: list[EstablishedLevel], points: PointsOf) -> None:
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
            rise = upper_median(late) - level.reference
            if level.again and rise >= limits.as_much_again * level.again[1].rise:
                self._separate_return(level, self.shifts[level.shift], rise)
            levels.append(self._establish(level, late, points))
            level.blocks = []  # when the level returns here, it begins with other blocks

    def _establish(
        self, before: EstablishedLevel, blocks: Sequence[MedianBlock], points: PointsOf
    ) -> EstablishedLevel:
        left = (*before.left, (before.reference, blocks[0].first_step))
        level = EstablishedLevel(self._limits, left)
        level.inherit_spells(before, upper_median(blocks) - before.reference)
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
