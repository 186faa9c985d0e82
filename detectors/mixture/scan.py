"""The scan for shifts of the shares: one pass over the rows, each against what is established by then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.mixture.shares import Parts, Sources, fitted
from holter.detectors.positions import RowPosition
from holter.types import FloatArray

KNOWN = 64
_KEPT = 1024
_CLIP, _ALLOWANCE, _ALARM = 5.0, 1.0, 10.0
"""A sum of surprises, in units of noise."""
_FEWEST = 16
"""Rows that a shift takes at least: a few batches with more of one dataset are the luck of the draw."""
_LEAST, _LEAST_ROW = 0.02, 0.08
"""Worth a word, as for spikes: 10 % of the loss for one row, 2 % for many."""
_OWN = 0.3
"""A dataset whose loss moved by more than this share of the shift, beyond its noise, is a cause itself."""
_PATIENCE, _SETTLED = 64, 256
"""Rows in which a rise must prove a shift, and after which its shares are the usual ones."""
_BACK_ROWS, _SURE = 64, 20.0
"""Rows on which the old shares explain the loss better, and by how many times the noise squared."""
_BACK = 0.5
"""A further shift is the end of the one before if the shares of before explain so much of it."""
_GRIDS = ((256, 16), (4096, 64), (65536, 512), (2**62, 2048))
_BEHIND = 192
"""Rows kept to go on with: what a shift may have begun in, and what was before that."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Usual:
    """What is established: shares [k], the middle and the noise of what they leave over, and its memory."""

    shares: FloatArray
    middle: float
    noise: float
    alarm: float

    def rest(self, parts: Parts) -> FloatArray:
        """What the shares leave unexplained of the total [n]."""
        rest = parts.total - self.middle
        # column by column: a row's sum never depends on where in an array it stands
        for column, share in zip(parts.parts.T, self.shares.tolist(), strict=True):
            rest = rest - column * share
        return rest


@dataclass(frozen=True, eq=False, kw_only=True)
class Shift:
    """One shift; `start` and `seen` are numbers of rows, `end` is None while it lasts.

    `around` are its first rows and those before it, as far as they are known; `logged` the shares there.
    """

    start: int
    seen: int
    usual: Usual
    around: Parts
    logged: FloatArray | None
    end: RowPosition | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """What a scan knows before row `at`. `calm` are the latest rows without a shift, on which rests what is
    established, `behind` the latest of all; `since` is the row from which on the present shares hold."""

    at: int = 0
    since: int = 0
    calm: Parts | None = None
    behind: Parts | None = None
    found: tuple[Shift, ...] = ()

    def kept(self) -> Standing:
        """The same, free of the rows that nobody needs any more."""
        assert self.calm is not None
        assert self.behind is not None
        return replace(
            self, calm=self.calm.copy(), behind=self.behind.between(0, self.at).latest(_BEHIND).copy()
        )


class Scan:
    """Goes on from where another one stood, with the rows from there on."""

    def __init__(self, since: Standing, sources: Sources, rows: Parts, sensitivity: float) -> None:
        self._sources = sources
        self._sensitivity = sensitivity
        self._parts = rows if since.behind is None else since.behind.and_then(rows)
        self._calm = rows.latest(0) if since.calm is None else since.calm
        self._rows = since.at + len(rows)
        self._at = since.at
        self._since = since.since
        self._decided = 0
        self.found = list(since.found)

    def run(self) -> Iterator[Standing]:
        """Look at piece after piece; yields what is known wherever nothing before can change any more."""
        while self._at < self._rows:
            grid = next(apart for upto, apart in _GRIDS if self._at < upto)
            whole = self._at - self._at % grid + grid
            upto = min(whole, self._rows)
            usual = self._usual()
            shift = None if usual is None else self._look(self._at, upto, usual)
            if shift is None:
                self._calm = self._calm.and_then(self._parts.between(self._at, upto)).latest(_KEPT)
                self._at = upto
            else:
                self._take(shift)
            if self._at >= self._decided and (shift is not None or upto == whole):
                yield Standing(
                    at=self._at,
                    since=self._since,
                    calm=self._calm,
                    behind=self._parts,
                    found=tuple(self.found),
                )

    def _usual(self) -> Usual | None:
        """The shares and the noise of the calm rows; None while they are too few."""
        if len(self._calm) < KNOWN:
            return None
        total, parts = self._calm.total, self._calm.parts
        even = np.full(parts.shape[1], 1 / parts.shape[1])
        shares = fitted(total, parts, even)
        rest = Usual(shares=shares, middle=0.0, noise=0.0, alarm=0.0).rest(self._calm)
        middle = float(np.median(rest))
        # luck of the draw weighs the more, the further the datasets' losses are apart
        lucky = (rest - middle) / self._calm.spread
        noise = max(1.4826 * float(np.median(np.abs(lucky))), 1e-3)
        z = np.clip(lucky / noise, -_CLIP, _CLIP)
        alike = float(np.mean(z[1:] * z[:-1]) / max(float(np.mean(z**2)), 1e-12))
        heavy = max(1.0, float(np.std(z)))
        persists = (1 + min(alike, 0.9)) / (1 - min(alike, 0.9)) if alike > 0.3 else 1.0
        return Usual(shares=shares, middle=middle, noise=noise * heavy, alarm=_ALARM * persists)

    def _look(self, at: int, upto: int, usual: Usual) -> Shift | None:
        """The first shift that is seen within these rows; it may have begun in the calm ones before."""
        begin = max(at - _PATIENCE, self._since)
        rows = self._parts.between(begin, upto)
        z = np.clip(usual.rest(rows) / rows.spread / usual.noise, -_CLIP, _CLIP)
        shifts = []
        for sign in (1.0, -1.0):
            walk = np.cumsum(sign * z - _ALLOWANCE)
            lowest = np.minimum.accumulate(np.minimum(walk, 0.0))
            loud = np.flatnonzero(walk - lowest > usual.alarm / self._sensitivity)
            for row in loud[loud >= at - begin].tolist():
                zero = np.flatnonzero(walk[:row] <= lowest[row])
                first = int(zero[-1]) + 1 if len(zero) else 0
                first = begin + max(first, int(np.searchsorted(rows.attempt, rows.attempt[row])))
                long = begin + row - first + 1
                if _FEWEST <= long < _PATIENCE and self._is_shift(first, begin + row, usual):
                    shifts.append((begin + row, first))
                    break
        if not shifts:
            return None
        seen, first = min(shifts, key=lambda one: one[0])
        around = self._parts.between(first - KNOWN, first + _SETTLED).copy()
        return Shift(start=first, seen=seen, usual=usual, around=around, logged=self._sources.logged(around))

    def _is_shift(self, first: int, last: int, usual: Usual) -> bool:
        """Whether it is worth a word, shares can make it, and no dataset's own loss does."""
        before = self._calm.between(0, first).latest(KNOWN)
        if len(before) < KNOWN // 2:
            return False
        rows, count = self._parts.between(first, last + 1), last + 1 - first
        moved = float(np.mean(usual.rest(rows)))
        level = abs(float(np.median(before.total)))
        if abs(moved) * self._sensitivity < (_LEAST + _LEAST_ROW / count**0.5) * level:
            return False
        now, then = rows.parts.mean(axis=0), before.parts
        total = float(np.mean(rows.total)) - usual.middle
        if not now.min() <= total <= now.max():
            return False
        middle = np.median(then, axis=0)
        noise = 1.4826 * np.median(np.abs(then - middle), axis=0)
        by_chance = 4 * noise * (1 / count + 1 / len(then)) ** 0.5
        return bool((np.abs(now - middle) < np.maximum(_OWN * abs(moved), by_chance)).all())

    def _take(self, shift: Shift) -> None:
        """Go on after a shift: where it is back, or its shares have become the usual ones."""
        self._decided = shift.start + _SETTLED
        end = self._back(shift)
        if not self._returns(shift):
            self.found.append(replace(shift, end=end))
        if end is not None:
            self._at = end.row + _BACK_ROWS
        else:
            self._at = min(shift.start + _SETTLED, self._rows)
            self._calm = self._parts.between(shift.seen + 1, self._at)
        self._since = self._at

    def _returns(self, shift: Shift) -> bool:
        """Whether it is the end of the one before: the shares are as they were."""
        earlier = self.found[-1] if self.found else None
        if earlier is None or earlier.end is not None:
            return False
        rows = self._parts.between(shift.start, shift.seen + 1)
        by_then, by_now = (usual.rest(rows) for usual in (earlier.usual, shift.usual))
        if float(by_then @ by_then) > _BACK * float(by_now @ by_now):
            return False
        self.found[-1] = replace(earlier, end=_at(rows, 0))
        return True

    def _back(self, shift: Shift) -> RowPosition | None:
        """Where the shares are as they were before, soon after a shift."""
        seen = self._parts.between(shift.start, shift.seen + 1)
        shares = fitted(seen.total - shift.usual.middle, seen.parts, shift.usual.shares)
        later = self._parts.between(shift.seen + 1, shift.start + _SETTLED)
        by_then, by_now = shift.usual.rest(later), replace(shift.usual, shares=shares).rest(later)
        gain = np.concatenate(([0.0], np.cumsum(by_now**2 - by_then**2)))
        noise = shift.usual.noise * float(seen.spread[0])
        back = np.flatnonzero(gain[_BACK_ROWS:] - gain[:-_BACK_ROWS] > _SURE * noise**2)
        return _at(later, int(back[0])) if len(back) else None


def _at(rows: Parts, place: int) -> RowPosition:
    return RowPosition(int(rows.row[place]), int(rows.attempt[place]), int(rows.step[place]))
