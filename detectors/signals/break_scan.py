"""The scan for breaks: levels of a few points, compared with what the series has held for a thousand."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import isfinite, log
from typing import NamedTuple

import numpy as np

from holter.detectors.robust_statistics import mad_sigma, median, quantiles, row_medians, windows
from holter.detectors.signals.chance_fall import SHORTEST, chance_fall, chance_of_steps
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray

YOUNG_POINTS = 256
"""Points up to which the scan of a young series takes each point for a block: a run of a hundred evaluations
is over before blocks of more are known."""
CHUNK_BLOCKS = 4
"""Blocks of a chunk: the references of its blocks are those of the chunks before."""


@dataclass(frozen=True, kw_only=True)
class BreakThresholds(Thresholds):
    """When a signal has broken out of the range that it held."""

    factor: float = 10.0
    """Times (or parts) of the usual level that a rise or fall of a positive signal must exceed: gradient
    norms and KL divergences vary by a few times as training goes on."""
    noises: float = 8.0
    """Robust standard deviations of the usual levels, or of their usual moves in its direction, that it must
    exceed, too."""
    lags: tuple[int, ...] = (1, 4, 16, 64)
    """Blocks over which the usual moves are measured: an accuracy that is learnt does not fall meanwhile."""
    beyond_factor: float = 2.0
    """Times the most extreme level so far that it must exceed, too: what was there before is no break."""
    lost_share: float = 0.4
    """Share of all that an accuracy or a reward has gained which its fall must exceed..."""
    held_blocks: int = 24
    """Blocks, of about a hundred points, over which a level was held, so that a fall below all of them is a
    loss, however low the usual level is."""
    lasting_share: float = 0.3
    """As `lost_share`, where as many single points as `held_blocks` have stayed below a level that was held
    for as long: what takes so long is no moment of forgetting."""
    sudden_noises: float = 12.0
    """As `noises`, for falls of single points, of what the level moves by chance within as many points.
    Of 450 simulated rewards without a collapse 36 are reported by mistake with 12, 39 with 10; of 90 planted
    collapses 74 and 75 are found."""
    beyond_rises: float = 1.3
    """Times the largest rise within as many points which such a fall must exceed: a mean of the latest
    episodes falls as fast as it rose, when what made it rise leaves it."""
    least_share: float = 0.2
    """Share of the level that it must exceed, too."""
    window_chunks: int = 64
    """Chunks of four blocks that are the usual level, the latest before."""
    latest_chunks: int = 16
    """Chunks, the latest, that do not count for the most extreme level, nor for the noise: a break may take
    that long."""
    known_chunks: int = 5
    """Chunks that must be known."""
    begun_share: float = 0.25
    """Share of the move from which on it counts as begun."""
    return_share: float = 0.5
    """Share of the move below which it is over."""


_NORMAL_QUANTILE = 1.2816
"""The quantile 0.9 of normal noise, in standard deviations."""


class BreakShape(StrEnum):
    """The way in which a signal left its range."""

    EXPLOSION = "explosion"
    COLLAPSE = "collapse"


@dataclass(frozen=True)
class SignalBreak:
    """A break, in rows of the series; `reference` and `extreme` are on the scale of the scan."""

    shape: BreakShape
    start: int
    detected: int
    reference: float
    extreme: float
    extreme_row: int
    noise: float
    level: float
    """The most extreme level of a chunk; `extreme` is what all its blocks have reached."""
    end: int | None = None
    end_seen: int | None = None
    """The row at which the end was certain."""
    usual_from: int | None = None
    """The row from which the level of a break without an end is the usual one, so that others may follow."""
    start_rows: int = 1
    """Rows of the block that begins at `start`: most of them are high, not always the first."""

    @property
    def is_followed(self) -> bool:
        """Whether its end may come."""
        return self.end is None and self.usual_from is None

    @property
    def is_unended(self) -> bool:
        """Whether its level has become the usual one, and it has not come back since."""
        return self.end is None and self.usual_from is not None

    def is_back(self, block: float, share: float) -> bool:
        """Whether a block is back by more than the rest, this share, of its move."""
        move, moved = self.extreme - self.reference, block - self.reference
        return moved < share * move if self.shape is BreakShape.EXPLOSION else moved > share * move


@dataclass(frozen=True, eq=False)
class BreakScan:
    """State of a scan after whole chunks, `row` being the next row of the series.

    A block has `block_points`, whose median tolerates outliers; while a series is young, each point is one
    (`is_young`). `medians` and `first_rows` are those of the latest blocks. `latest` are the medians of the
    latest chunks, `high` and `low` the extremes of the chunks before them: a break must not be its own
    reference. Values are on a scale on which equal distances mean the same, logarithms of positive signals
    (`is_log`).
    """

    is_log: bool
    shapes: frozenset[BreakShape]
    limits: BreakThresholds
    sensitivity: float
    block_points: int
    is_young: bool = False
    is_single: bool = False
    """Whether single points are blocks throughout, for sudden losses of a level alone."""
    row: int = 0
    medians: FloatArray = field(default_factory=lambda: np.empty(0))
    first_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    latest: tuple[float, ...] = ()
    high: float = -np.inf
    low: float = np.inf
    breaks: tuple[SignalBreak, ...] = ()

    def after(self, values: FloatArray, rows: IntArray) -> tuple[BreakScan, tuple[SignalBreak, ...]]:
        """The state after the whole chunks of these points [n], and all breaks up to the last whole block."""
        if self.is_young:
            left = YOUNG_POINTS - len(self.medians)
            young, breaks = self._after_blocks(values[:left], rows[:left], 1)
            if len(values) < left:
                return young, breaks
            return young._grown().after(values[left:], rows[left:])
        return self._after_blocks(values, rows, self.block_points)

    def _grown(self) -> BreakScan:
        """The state of a series that is young no longer, of which all blocks of one point are known."""
        medians = row_medians(self.medians.reshape(-1, self.block_points))
        chunks = row_medians(medians.reshape(-1, CHUNK_BLOCKS)).tolist()
        return replace(
            self,
            is_young=False,
            medians=medians,
            first_rows=self.first_rows[:: self.block_points],
            latest=tuple(chunks[-self.limits.latest_chunks :]),
            high=max(chunks[: -self.limits.latest_chunks], default=-np.inf),
            low=min(chunks[: -self.limits.latest_chunks], default=np.inf),
        )

    def _after_blocks(
        self, values: FloatArray, rows: IntArray, size: int
    ) -> tuple[BreakScan, tuple[SignalBreak, ...]]:
        blocks, known = len(values) // size, len(self.medians)
        new = row_medians(values[: blocks * size].reshape(blocks, size))
        medians = np.concatenate((self.medians, new))
        first_rows = np.concatenate((self.first_rows, rows[: blocks * size : size]))
        last_rows = rows[size - 1 : blocks * size : size]
        whole = blocks // CHUNK_BLOCKS
        chunks = row_medians(new[: whole * CHUNK_BLOCKS].reshape(whole, CHUNK_BLOCKS)).tolist()
        breaks = settled = self.breaks
        latest, high, low = deque(self.latest), self.high, self.low
        starts = np.arange(0, blocks, CHUNK_BLOCKS)
        highest = np.maximum.reduceat(new, starts).tolist() if blocks else []
        lowest = np.minimum.reduceat(new, starts).tolist() if blocks else []
        for chunk, first in enumerate(starts.tolist()):
            is_open = bool(breaks) and (
                breaks[-1].is_followed or self._may_end(breaks, highest[chunk], lowest[chunk])
            )
            best = high if self.is_log else max((high, *latest))
            if is_open or self._may_break(highest[chunk], lowest[chunk], best, low):
                inside = new[first : first + CHUNK_BLOCKS]
                begin = known + first
                window = self.limits.window_chunks * CHUNK_BLOCKS
                stop = max(begin - CHUNK_BLOCKS, 0)
                blocks_before = _BlocksBefore(
                    medians[: begin + len(inside)],
                    first_rows,
                    begin,
                    high,
                    low,
                    usual=medians[max(stop - window, 0) : stop],
                    settled=self._settled(stop - max(stop - window, 0)),
                    limits=self.limits,
                )
                breaks = self._examine(breaks, blocks_before, last_rows[first : first + CHUNK_BLOCKS])
            if chunk < whole:
                latest.append(chunks[chunk])
                if len(latest) > self.limits.latest_chunks:
                    oldest = latest.popleft()
                    high, low = max(high, oldest), min(low, oldest)
                settled = breaks
        done = known + whole * CHUNK_BLOCKS
        stored = max(done - (self.limits.window_chunks + 2) * CHUNK_BLOCKS, 0)
        if not whole:
            return self, breaks
        state = replace(
            self,
            breaks=settled,
            row=int(last_rows[whole * CHUNK_BLOCKS - 1]) + 1,
            medians=medians[stored:done].copy(),
            first_rows=first_rows[stored:done].copy(),
            latest=tuple(latest),
            high=high,
            low=low,
        )
        return state, breaks

    def _settled(self, usual: int) -> int:
        """How many of the usual blocks show the noise: not the latest, since a break may take that long,
        unless too few are left."""
        before = usual - (self.limits.latest_chunks - 1) * CHUNK_BLOCKS
        return before if before >= self.limits.known_chunks * CHUNK_BLOCKS else usual

    def _may_end(self, breaks: tuple[SignalBreak, ...], highest: float, lowest: float) -> bool:
        """Whether a chunk with these extremes has any block that is back from a break whose level had become
        the usual one."""
        for each in breaks:
            if each.is_unended:
                nearest = lowest if each.shape is BreakShape.EXPLOSION else highest
                if each.is_back(nearest, self.limits.return_share):
                    return True
        return False

    def _may_break(self, highest: float, lowest: float, high: float, low: float) -> bool:
        """Whether a chunk with these extremes has any block that is far from where each chunk was before, or
        has lost much of what was gained."""
        if self.is_log:
            margin = log(self.limits.beyond_factor)
            return highest > high + margin or lowest < low - margin
        share = min(self.limits.lost_share, self.limits.lasting_share)
        return not isfinite(high) or lowest < (1 - share) * high + share * low

    def _examine(
        self, breaks: tuple[SignalBreak, ...], before: _BlocksBefore, last_rows: IntArray
    ) -> tuple[SignalBreak, ...]:
        """The breaks after the blocks of one chunk."""
        for offset, last_row in enumerate(last_rows.tolist()):
            block = before.begin + offset
            breaks = tuple(
                self._ended_late(each, before, block, last_row) if each.is_unended else each
                for each in breaks
            )
            if breaks and breaks[-1].is_followed:
                breaks = (*breaks[:-1], self._followed(breaks[-1], before, block, last_row))
            elif (found := self._detected(before, block, last_row)) is not None:
                breaks = (*breaks, found)
        return breaks

    def _ended_late(
        self, present: SignalBreak, before: _BlocksBefore, block: int, last_row: int
    ) -> SignalBreak:
        """A break whose level had become the usual one after one more block: it may be back after all."""
        first = max(block + 1 - CHUNK_BLOCKS, 0)
        latest = before.medians[first : block + 1].tolist()
        if not all(present.is_back(each, self.limits.return_share) for each in latest):
            return present
        return replace(present, end=int(before.first_rows[first]), end_seen=last_row)

    def _detected(self, before: _BlocksBefore, block: int, last_row: int) -> SignalBreak | None:
        limits, recent = self.limits, before.medians[max(block + 1 - CHUNK_BLOCKS, 0) : block + 1]
        if len(before.usual) < limits.known_chunks * CHUNK_BLOCKS:
            return None
        lowest, highest = float(recent.min()), float(recent.max())
        if self.is_single:
            return self._loss_of_points(before, block, last_row, highest)
        margin = log(limits.beyond_factor)
        if self.is_log and not (lowest > before.high + margin or highest < before.low - margin):
            return None
        reference = before.reference
        up, down = lowest - reference, reference - highest
        if self.is_log:
            least = log(limits.factor)
            rises = up * self.sensitivity > least and lowest > before.high + margin
            falls = down * self.sensitivity > least and highest < before.low - margin
        else:
            rises, falls = False, self._is_loss(highest, reference, before.low)
        for shape, is_broken in ((BreakShape.EXPLOSION, rises), (BreakShape.COLLAPSE, falls)):
            if is_broken and shape in self.shapes:
                move = up if shape is BreakShape.EXPLOSION else -down
                noise = before.noise(np.sign(move))
                if not self.is_log:
                    noise = max(noise, before.chance_of_steps(block, reference))
                if abs(move) * self.sensitivity > limits.noises * noise:
                    return self._broken(shape, before, block, last_row, reference, move, noise)
        if self.is_log or self.is_young or BreakShape.COLLAPSE not in self.shapes:
            return None
        return self._lost_spell(before, block, last_row, highest)

    def _lost_spell(
        self, before: _BlocksBefore, block: int, last_row: int, highest: float
    ) -> SignalBreak | None:
        """The loss of a level that was reached for a while, however low the usual one is."""
        held = before.best_spell
        move = highest - held.level
        if highest >= held.lowest or not self._is_loss(highest, held.level, before.low):
            return None
        # the best spell of a level that wanders is calm by chance, as one of a mean of the latest episodes
        noise = max(held.noise, before.noise(-1.0), before.chance_of_steps(block, held.lowest))
        if -move * self.sensitivity <= self.limits.noises * noise:
            return None
        return self._broken(BreakShape.COLLAPSE, before, block, last_row, held.level, move, noise)

    def _loss_of_points(
        self, before: _BlocksBefore, block: int, last_row: int, highest: float
    ) -> SignalBreak | None:
        """The same of single points: four that have lost much of the level, or more that stay below it."""
        limits = self.limits
        if not self._is_loss(highest, before.highest, before.low, limits.lasting_share):
            return None  # as mostly, without a search for the best spell
        for points, share in ((CHUNK_BLOCKS, limits.lost_share), (limits.held_blocks, limits.lasting_share)):
            recent = before.medians[max(block + 1 - points, 0) : block + 1]
            if len(recent) < points or float(recent.max()) >= before.best_spell.lowest:
                return None
            level = float(recent.max()) if points == CHUNK_BLOCKS else median(recent)
            found = self._sudden_loss(before, block, last_row, level, points, share)
            if found is not None:
                return found
        return None

    def _sudden_loss(
        self, before: _BlocksBefore, block: int, last_row: int, level: float, points: int, share: float
    ) -> SignalBreak | None:
        """A fall to the level of the latest points, beyond what is lost by chance in as many as it took.

        The usual falls over a thousand points contain the collapses before this one, and the noise of the
        rise: those over as few points as this one took do not.
        """
        limits, held = self.limits, before.best_spell
        if not self._is_loss(level, held.level, before.low, share):
            return None
        rows = max(before.rows_below(block, held.lowest) - points + CHUNK_BLOCKS, SHORTEST)
        fall, noise = (held.level - level) * self.sensitivity, max(held.noise, before.chance_fall(rows))
        if fall <= max(limits.sudden_noises * noise, limits.beyond_rises * before.largest_rise(rows)):
            return None
        move = level - held.level
        return self._broken(BreakShape.COLLAPSE, before, block, last_row, held.level, move, noise)

    def _is_loss(self, highest: float, reference: float, low: float, share: float | None = None) -> bool:
        """Whether blocks that are nowhere above `highest` have lost much of a level that was reached from
        `low`: a share, `lost_share` by default."""
        share = self.limits.lost_share if share is None else share
        least = max(share * (reference - low), self.limits.least_share * abs(reference))
        return (reference - highest) * self.sensitivity > least

    def _broken(
        self,
        shape: BreakShape,
        before: _BlocksBefore,
        block: int,
        last_row: int,
        reference: float,
        move: float,
        noise: float,
    ) -> SignalBreak:
        return SignalBreak(
            shape=shape,
            start=before.onset(block, reference, self.limits.begun_share * move, self.limits.window_chunks),
            detected=last_row,
            reference=reference,
            extreme=reference + move,
            extreme_row=last_row,
            noise=noise,
            level=median(before.medians[max(block + 1 - CHUNK_BLOCKS, 0) : block + 1]),
            start_rows=1 if self.is_young else self.block_points,
        )

    def _followed(
        self, present: SignalBreak, before: _BlocksBefore, block: int, last_row: int
    ) -> SignalBreak:
        """An open break after one more block."""
        latest = before.medians[max(block + 1 - CHUNK_BLOCKS, 0) : block + 1]
        recent = latest - present.reference
        sign = 1.0 if present.shape is BreakShape.EXPLOSION else -1.0
        move, reached = sign * (present.extreme - present.reference), float((sign * recent).min())
        level = median(latest)
        if sign * (level - present.level) > 0:
            present = replace(present, level=level, extreme_row=last_row)
        if reached > move:
            return replace(present, extreme=present.reference + sign * reached)
        if float((sign * recent).max()) < self.limits.return_share * move:
            end = int(before.first_rows[max(block + 1 - CHUNK_BLOCKS, 0)])
            return replace(present, end=end, end_seen=last_row)
        window = self.limits.window_chunks * CHUNK_BLOCKS * self.block_points
        if not self.is_log and last_row - present.detected > window:
            return replace(present, usual_from=last_row)
        return present


class _Spell(NamedTuple):
    """Blocks in sequence, their median, the lowest of them, and their noise."""

    level: float
    lowest: float
    noise: float
    blocks: FloatArray


@dataclass(frozen=True, eq=False)
class _BlocksBefore:
    """The medians of blocks up to those of one chunk, which begins at block `begin`; `usual` are those that
    the blocks of the chunk are compared with, the first `settled` of them those that show the noise."""

    medians: FloatArray
    first_rows: IntArray
    begin: int
    high: float
    low: float
    usual: FloatArray
    settled: int
    limits: BreakThresholds

    @cached_property
    def reference(self) -> float:
        """The usual level."""
        return median(self.usual)

    @cached_property
    def highest(self) -> float:
        """The highest usual block."""
        return float(self.usual.max())

    @cached_property
    def best_spell(self) -> _Spell:
        """The spell of `held_blocks` with the highest level; at -inf where fewer are known."""
        size = self.limits.held_blocks
        if len(self.usual) < size:
            return _Spell(-np.inf, -np.inf, 0.0, self.usual)
        spells = windows(self.usual, size)
        levels = row_medians(spells)
        best = int(np.argmax(levels))
        level = float(levels[best])
        return _Spell(level, float(spells[best].min()), mad_sigma(spells[best], level), spells[best])

    def rows_below(self, block: int, level: float) -> int:
        """The blocks from the last one that was at a level to this one, at least `SHORTEST`."""
        reached = np.flatnonzero(self.medians[: block + 1] >= level)
        return max(block - int(reached[-1]) if len(reached) else block, SHORTEST)

    def chance_of_steps(self, block: int, level: float) -> float:
        """How far a level that moves by steps falls by chance from the last block that was at it."""
        return chance_of_steps(self.usual[: self.settled], self.rows_below(block, level))

    def chance_fall(self, rows: int) -> float:
        """How far the level falls by chance within so many rows."""
        return chance_fall(self.usual[: self.settled], self.best_spell.blocks, rows)

    def largest_rise(self, rows: int) -> float:
        """The largest rise within so many rows."""
        rises = self.usual[rows:] - self.usual[:-rows]
        return float(rises.max()) if len(rises) else 0.0

    def noise(self, sign: float) -> float:
        """The robust standard deviation of blocks, and of the levels among which they vary; of their moves up
        (`sign` 1) or down where these are smaller, as in a series that moves the other way."""
        settled = sign * self.usual[: self.settled]
        low, high = quantiles(settled, (0.1, 0.9))
        moves = [settled[lag:] - settled[:-lag] for lag in self.limits.lags if len(settled) >= 2 * lag]
        # two blocks are as far apart as the root of two standard deviations
        usual = [quantiles(each, (0.9,))[0] / 2**0.5 for each in (*moves, -moves[0])]
        return min((high - low) / 2, max(usual)) / _NORMAL_QUANTILE

    def onset(self, block: int, reference: float, begun: float, chunks: int) -> int:
        """The first row of the blocks up to this one that have moved by `begun` or more."""
        first = max(block - chunks * CHUNK_BLOCKS, 0)
        moved = (self.medians[first : block + 1] - reference) * np.sign(begun) >= abs(begun)
        still = np.flatnonzero(~moved)
        return int(self.first_rows[first + int(still[-1]) + 1 if len(still) else first])
