"""Established levels: when a quantity that should stay where it is rises and stays up, and since when.

The series is cut into blocks of a few points; a block's median forgives pauses and single stalls. What
counts as established, and how much it wanders by itself, is learnt from the blocks seen so far, so the
rise asked for grows with the noise of the series itself (rules with a fixed allowance raise false
alarms when the noise is correlated, as that of step times is).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from holter.detectors.positions import RowPosition
from holter.detectors.throughput.block_medians import BLOCK, LONG, SHORT, MedianBlock
from holter.detectors.throughput.onset import ShiftOnset, find_onset
from holter.types import FloatArray

_REMEMBERED = 2048
_SETTLED, _SLOWEST = 32, 64
_RISE = {SHORT: 6.0, LONG: 5.0}
"""Blocks looked at together, and the rise asked for in units of what they wander by themselves."""
_ESTABLISHED_BLOCKS, _ESTABLISHED_STEPS = 8, 300
_COSTLIER = 4.0
"""Spells that return are one event, until one of them costs so many times what the longest did."""

PointsOf = Callable[[MedianBlock], tuple[list[RowPosition], FloatArray]]
"""The points of a block, and their values."""


@dataclass(frozen=True, kw_only=True)
class LevelShift:
    """A rise above the established level. `end` is None while it lasts; `rise` is the largest level reached
    above `reference` so far."""

    start: RowPosition
    detected: RowPosition
    reference: float
    noise: float
    gradual: bool
    rise: float
    worst: RowPosition
    end: RowPosition | None = None


class _Spread:
    """The last so many numbers in order, for their quantiles."""

    def __init__(self, numbers: Iterable[float] = ()) -> None:
        self._queue = deque(numbers)
        self._ordered = sorted(self._queue)

    def __len__(self) -> int:
        return len(self._ordered)

    def copy(self) -> _Spread:
        other = _Spread()
        other._queue, other._ordered = self._queue.copy(), self._ordered.copy()
        return other

    def add(self, value: float) -> None:
        ordered, queue = self._ordered, self._queue
        insort(ordered, value)
        queue.append(value)
        if len(queue) > _REMEMBERED:
            del ordered[bisect_left(ordered, queue.popleft())]

    def quantile(self, share: float) -> float:
        return self._ordered[int(share * (len(self._ordered) - 1))]

    def noise(self) -> float:
        # quartiles: a quarter of the blocks may be slow without widening it; wider while little is known
        return (self.quantile(0.75) - self.quantile(0.25)) / 1.349 * (1 + 8 / len(self._ordered))


class _Level:
    """What is established in one group, and the number of the departure from it that is going on.

    `blocks` are the latest of `count` in all, the first of which began at step `since`. `again` is since
    when a departure that had ended goes on again, and how it stood before; `longest` are the points of
    its longest spell so far.
    """

    def __init__(self) -> None:
        self.spreads = {scale: _Spread() for scale in (1, *_RISE)}
        self.blocks: list[MedianBlock] = []
        self.count = 0
        self.since = 0
        self.learnt = 0
        self.departure: int | None = None
        self.latest: int | None = None
        self.again: tuple[ShiftOnset, LevelShift] | None = None
        self.longest = 0

    @property
    def reference(self) -> float:
        return self.spreads[1].quantile(0.5)

    def copy(self) -> _Level:
        other = _Level()
        other.__dict__ |= self.__dict__
        other.spreads = {scale: spread.copy() for scale, spread in self.spreads.items()}
        other.blocks = self.blocks.copy()
        return other

    def begin(self, blocks: Sequence[MedianBlock]) -> None:
        """Take these blocks for all there are."""
        self.blocks, self.count, self.learnt = list(blocks), len(blocks), 0
        self.since = blocks[0].first_step

    def append(self, block: MedianBlock) -> None:
        if not self.count:
            self.since = block.first_step
        self.blocks.append(block)
        self.count += 1
        if len(self.blocks) > _REMEMBERED + _REMEMBERED // 4:
            del self.blocks[:-_REMEMBERED]

    def at_scale(self, count: int, scale: int) -> float:
        """What the first `count` blocks, no older than those kept, show of late, at one scale."""
        upto = len(self.blocks) - (self.count - count)
        if count >= scale:
            block = self.blocks[upto - 1]
            return block.median if scale == 1 else block.short if scale == SHORT else block.long
        return _middle(self.blocks[:upto])

    def learn(self, count: int) -> None:
        """Take what the first so many blocks show of late for usual."""
        self.learnt = count
        if count < LONG:
            for scale, spread in self.spreads.items():
                spread.add(self.at_scale(count, scale))
            return
        block = self.blocks[count - self.count - 1]
        self.spreads[1].add(block.median)
        self.spreads[SHORT].add(block.short)
        self.spreads[LONG].add(block.long)


def _middle(blocks: Sequence[MedianBlock]) -> float:
    ordered = sorted([block.median for block in blocks])
    return ordered[len(ordered) // 2]


class LevelShiftScan:
    """Looks at one block after the other, and remembers what is established in each group.

    `smallest` is the least rise worth a word. A departure is spoken at the last point of a block and
    rests on points up to there; it ends when the level is back by more than half of the rise. A rise
    soon after the end of one is the same one going on. A level that stays becomes established itself:
    a further rise from there is another departure. `departures` are in the order of their detection.
    """

    def __init__(self, *, smallest: float, sensitivity: float = 1.0) -> None:
        self.departures: list[LevelShift] = []
        self._smallest = smallest
        self._sensitivity = sensitivity
        self._levels: dict[int, list[_Level]] = {}

    def copy(self) -> LevelShiftScan:
        """Another one that knows the same, and may learn more."""
        other = LevelShiftScan(smallest=self._smallest, sensitivity=self._sensitivity)
        other.departures = self.departures.copy()
        other._levels = {group: [one.copy() for one in levels] for group, levels in self._levels.items()}
        return other

    def look_at(self, blocks: Iterable[MedianBlock], points: PointsOf) -> None:
        """Go on with the blocks that follow."""
        for block in blocks:
            levels = self._levels.get(block.group)
            if levels is None:
                levels = self._levels[block.group] = [_Level()]
            levels[-1].append(block)
            if len(levels) > 1 or levels[0].departure is not None:
                self._return(levels)
            self._look(levels[-1], points)
            self._settle(levels, points)

    def _return(self, levels: list[_Level]) -> None:
        """End what is back for more than half of its rise, however many levels it had settled on."""
        blocks = levels[-1].blocks
        recent = blocks[-SHORT:]
        highest = max(block.median for block in recent)
        late = _middle(blocks[-LONG:])
        for depth, level in enumerate(levels):
            if level.departure is None:
                continue
            departure = self.departures[level.departure]
            if late - departure.reference > departure.rise:
                departure = replace(departure, rise=late - departure.reference, worst=recent[-1].end)
            back = highest < departure.reference + 0.5 * departure.rise
            self.departures[level.departure] = replace(departure, end=recent[0].begin) if back else departure
            if back:
                begun = level.again[0].at if level.again else departure.start
                level.longest = max(level.longest, recent[0].first - begun.row)
                level.departure, level.latest, level.again = None, level.departure, None
                # what was seen during the departure is no part of what is established
                level.begin(recent)
                del levels[depth + 1 :]
                return
            self._tell_apart(level, departure, late)

    def _tell_apart(self, level: _Level, departure: LevelShift, late: float) -> None:
        """A spell that costs far more than those before it is a departure of its own."""
        # one that has settled at its new level has no blocks of its own any more
        if level.again is None or level.departure is None or not level.blocks:
            return
        now, (onset, earlier) = level.blocks[-1], level.again
        length, rise = now.last - onset.at.row, late - departure.reference
        if length < LONG * BLOCK or length * rise < _COSTLIER * level.longest * earlier.rise:
            return
        self.departures[level.departure] = earlier
        level.departure, level.again, level.longest = len(self.departures), None, 0
        self.departures.append(
            replace(
                departure, start=onset.at, detected=now.end, gradual=onset.gradual, rise=rise, worst=now.end
            )
        )

    def _look(self, level: _Level, points: PointsOf) -> None:
        if level.departure is not None:
            return
        if self._established(level) and self._departs(level):
            self._speak(level, points)
        else:
            self._learn(level)

    def _learn(self, level: _Level) -> None:
        # a block waits before it counts as established: the beginning of a slow rise must not
        wait = min(max(LONG, len(level.spreads[1]) // 2), _SLOWEST)
        for count in range(level.learnt + 1, level.count - wait + 1):
            level.learn(count)

    def _established(self, level: _Level) -> bool:
        steps = level.blocks[-1].last_step - level.since
        return len(level.spreads[1]) >= _ESTABLISHED_BLOCKS and steps >= _ESTABLISHED_STEPS

    def _departs(self, level: _Level) -> bool:
        reference = level.reference
        for scale, asked in _RISE.items():
            rise = (level.at_scale(level.count, scale) - reference) * self._sensitivity
            if rise > self._smallest:
                spread = level.spreads[scale]
                if rise > max(asked * spread.noise(), spread.quantile(0.97) - reference):
                    return True
        return False

    def _speak(self, level: _Level, points: PointsOf) -> None:
        now = level.blocks[-1]
        onset = self._onset(level, points)
        height = level.at_scale(level.count, SHORT) - level.reference
        if level.latest is not None:
            latest = self.departures[level.latest]
            assert latest.end is not None
            gap, length = onset.at.row - latest.end.row, latest.end.row - latest.start.row
            within = onset.at.attempt == latest.end.attempt
            if within and gap <= max(_SLOWEST * BLOCK, length):
                self.departures[level.latest] = replace(latest, end=None)
                level.departure, level.again = level.latest, (onset, latest)
                return
        level.departure, level.longest = len(self.departures), 0
        self.departures.append(
            LevelShift(
                start=onset.at,
                detected=now.end,
                reference=level.reference,
                noise=level.spreads[SHORT].noise(),
                gradual=onset.gradual,
                rise=max(height, self._smallest),
                worst=now.end,
            )
        )

    def _onset(self, level: _Level, points: PointsOf) -> ShiftOnset:
        return find_onset(level.blocks[-_REMEMBERED:], level.reference, points)

    def _settle(self, levels: list[_Level], points: PointsOf) -> None:
        """Take the level of late as established where it has stayed long enough: higher, or lower."""
        level = levels[-1]
        if level.count % _SETTLED or not level.learnt:
            return
        # the longer a level has been the usual one, the longer a new one must stay
        long_enough = min(max(_SETTLED, len(level.spreads[1]) // 4), _REMEMBERED // 8)
        if level.count < long_enough:
            return
        late = level.blocks[-long_enough:]
        ordered = sorted(block.median for block in late)
        low, high = ordered[long_enough // 8], ordered[-long_enough // 8]
        wander = max(self._smallest, 3 * level.spreads[SHORT].noise())
        if level.departure is None:
            if high < level.reference - wander:
                levels[-1] = self._anew(late, points)
        elif self.departures[level.departure].start.row < late[0].first:
            earlier, later = late[: long_enough // 2], late[long_enough // 2 :]
            still_rising = _middle(later) - _middle(earlier) > wander / 4
            if high - low < wander and not still_rising:
                levels.append(self._anew(late, points))
                level.blocks = []  # when it is back there, it begins with others

    def _anew(self, blocks: Sequence[MedianBlock], points: PointsOf) -> _Level:
        level = _Level()
        for block in blocks:
            level.append(block)
            self._look(level, points)
        return level
