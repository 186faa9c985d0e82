"""Mixture shift: the total loss moves because the datasets' shares did, while each dataset's loss goes on.

The change of a total splits in two (Kitagawa): what the datasets' losses did at equal shares, and what
the shares did at equal losses. The total less the datasets at their established shares shows the second
alone, and with hardly any noise: the batches' luck is in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from holter.detectors.figures import figure
from holter.detectors.mixture.shares import Parts, fitted, parts_of
from holter.tuning import Tuning
from holter.types import Finding, FloatArray, Kind, RunData, Severity

_KNOWN, _KEPT = 64, 1024
_CLIP, _ALLOWANCE, _ALARM = 5.0, 1.0, 10.0
"""A sum of surprises, in units of noise."""
_FEWEST = 16
"""Rows that a shift takes at least: a few batches with more of one dataset are the luck of the draw."""
_SPREAD_ROWS, _SPREAD = 64, 0.02
"""Rows that the datasets' losses are compared on; nearer to each other than so much of the loss, shares
say nothing."""
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
_RESUME_ROWS, _WAIT_ROWS = 50, 150
"""A shift that begins with an attempt waits for what the restart itself is found to have done."""
_GRIDS = ((256, 16), (4096, 64), (65536, 512), (2**62, 2048))
_LOGGED = 0.02


@dataclass(frozen=True, eq=False, kw_only=True)
class _Usual:
    """What is established: shares [k], the middle and the noise of what they leave over, and its memory."""

    shares: FloatArray
    middle: float
    noise: float
    alarm: float


@dataclass(kw_only=True)
class _Shift:
    """One shift; `start`, `seen`, `end` index rows, `end` None while it lasts."""

    start: int
    seen: int
    size: float
    usual: _Usual
    end: int | None = None


@dataclass(frozen=True)
class MixtureShift:
    """Watches what the datasets' losses at their usual shares leave unexplained of the total loss."""

    name: ClassVar[str] = "mixture_shift"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.MIXTURE_SHIFT, Kind.RESUME_ARTIFACT})
    tuning: Tuning = Tuning()

    def detect(self, run: RunData) -> Iterable[Finding]:
        """One finding per shift of the shares, on the total loss."""
        parts = parts_of(run)
        if parts is None:
            return
        for shift in _Scan(parts, self.tuning.of(parts.series.key.metric).sensitivity).run():
            spoken = _spoken(parts, shift)
            if spoken is None:
                continue
            finding = _finding(parts, shift, spoken)
            yield finding if _restart(parts, shift) is None else _with_restart(finding, parts, shift)


class _Scan:
    """Goes through the rows once. `calm` [m] are the latest rows without a shift, on which rests what is
    established; `since` is the row from which on the present shares hold."""

    def __init__(self, parts: Parts, sensitivity: float) -> None:
        self.parts = parts
        self.sensitivity = sensitivity
        self.spread = _spread(parts)
        self.calm = np.empty(0, dtype=np.int64)
        self.since = 0
        self.found: list[_Shift] = []

    def run(self) -> list[_Shift]:
        """Every shift, in the order in which they are seen."""
        at, rows = 0, len(self.parts.total)
        while at < rows:
            grid = next(apart for upto, apart in _GRIDS if at < upto)
            upto = min(at - at % grid + grid, rows)
            usual = self._usual()
            shift = None if usual is None else self._look(at, upto, usual)
            if shift is None:
                self.calm = np.concatenate((self.calm, np.arange(at, upto)))[-_KEPT:]
                at = upto
                continue
            if not self._returns(shift):
                self.found.append(shift)
            self.since = at = self._follow(shift)
        return self.found

    def _usual(self) -> _Usual | None:
        """The shares and the noise of the calm rows; None while they are too few."""
        if len(self.calm) < _KNOWN:
            return None
        total, parts = self.parts.total[self.calm], self.parts.parts[self.calm]
        even = np.full(parts.shape[1], 1 / parts.shape[1])
        shares = fitted(total, parts, even)
        rest = total - parts @ shares
        middle = float(np.median(rest))
        # luck of the draw weighs the more, the further the datasets' losses are apart
        lucky = (rest - middle) / self.spread[self.calm]
        noise = max(1.4826 * float(np.median(np.abs(lucky))), 1e-3)
        z = np.clip(lucky / noise, -_CLIP, _CLIP)
        alike = float(np.mean(z[1:] * z[:-1]) / max(float(np.mean(z**2)), 1e-12))
        heavy = max(1.0, float(np.std(z)))
        persists = (1 + min(alike, 0.9)) / (1 - min(alike, 0.9)) if alike > 0.3 else 1.0
        return _Usual(shares=shares, middle=middle, noise=noise * heavy, alarm=_ALARM * persists)

    def _rest(self, first: int, after: int, usual: _Usual) -> FloatArray:
        rows = slice(first, after)
        rest: FloatArray = self.parts.total[rows] - self.parts.parts[rows] @ usual.shares - usual.middle
        return rest

    def _look(self, at: int, upto: int, usual: _Usual) -> _Shift | None:
        """The first shift that is seen within these rows; it may have begun in the calm ones before."""
        begin = max(at - _PATIENCE, self.since)
        z = self._rest(begin, upto, usual) / self.spread[begin:upto] / usual.noise
        z = np.clip(z, -_CLIP, _CLIP)
        shifts = []
        for sign in (1.0, -1.0):
            walk = np.cumsum(sign * z - _ALLOWANCE)
            lowest = np.minimum.accumulate(np.minimum(walk, 0.0))
            loud = np.flatnonzero(walk - lowest > usual.alarm / self.sensitivity)
            for row in loud[loud >= at - begin].tolist():
                zero = np.flatnonzero(walk[:row] <= lowest[row])
                first = begin + (int(zero[-1]) + 1 if len(zero) else 0)
                first = max(first, int(np.searchsorted(self.parts.attempt, self.parts.attempt[begin + row])))
                if _FEWEST <= row + begin - first + 1 < _PATIENCE and self._is_shift(
                    first, begin + row, usual
                ):
                    size = float(np.mean(self._rest(first, begin + row + 1, usual)))
                    shifts.append(_Shift(start=first, seen=begin + row, size=size, usual=usual))
                    break
        return min(shifts, key=lambda one: one.seen, default=None)

    def _is_shift(self, first: int, last: int, usual: _Usual) -> bool:
        """Whether it is worth a word, shares can make it, and no dataset's own loss does."""
        rows = slice(first, last + 1)
        count = last + 1 - first
        before = self.calm[self.calm < first][-_KNOWN:]
        if len(before) < _KNOWN // 2:
            return False
        moved = float(np.mean(self._rest(first, last + 1, usual)))
        level = abs(float(np.median(self.parts.total[before])))
        if abs(moved) * self.sensitivity < (_LEAST + _LEAST_ROW / count**0.5) * level:
            return False
        now, then = self.parts.parts[rows], self.parts.parts[before]
        total = float(np.mean(self.parts.total[rows])) - usual.middle
        if not now.mean(axis=0).min() <= total <= now.mean(axis=0).max():
            return False
        middle = np.median(then, axis=0)
        noise = 1.4826 * np.median(np.abs(then - middle), axis=0)
        own = np.abs(now.mean(axis=0) - middle)
        by_chance = 4 * noise * (1 / count + 1 / len(then)) ** 0.5
        return bool((own < np.maximum(_OWN * abs(moved), by_chance)).all())

    def _returns(self, shift: _Shift) -> bool:
        """Whether it is the end of the one before: the shares are as they were."""
        earlier = self.found[-1] if self.found else None
        if earlier is None or earlier.end is not None:
            return False
        first, after = shift.start, shift.seen + 1
        by_then, by_now = (self._rest(first, after, usual) for usual in (earlier.usual, shift.usual))
        if float(by_then @ by_then) > _BACK * float(by_now @ by_now):
            return False
        earlier.end = shift.start
        return True

    def _shares(self, shift: _Shift) -> FloatArray:
        """The shares since a shift, as far as they were known when it was seen."""
        rows, usual = slice(shift.start, shift.seen + 1), shift.usual
        return fitted(self.parts.total[rows] - usual.middle, self.parts.parts[rows], usual.shares)

    def _follow(self, shift: _Shift) -> int:
        """The row from which to look on: where a shift is back, or its shares have become the usual ones."""
        upto = min(shift.start + _SETTLED, len(self.parts.total))
        by_then = self._rest(shift.seen + 1, upto, shift.usual)
        by_now = self._rest(shift.seen + 1, upto, replace(shift.usual, shares=self._shares(shift)))
        gain = np.concatenate(([0.0], np.cumsum(by_now**2 - by_then**2)))
        noise = shift.usual.noise * float(self.spread[shift.start])
        back = np.flatnonzero(gain[_BACK_ROWS:] - gain[:-_BACK_ROWS] > _SURE * noise**2)
        if len(back):
            shift.end = shift.seen + 1 + int(back[0])
            return shift.end + _BACK_ROWS
        self.calm = np.arange(shift.seen + 1, upto)
        return upto


def _spread(parts: Parts) -> FloatArray:
    """How far the datasets' losses were apart of late, row by row [n]."""
    count = np.minimum(np.arange(1, len(parts.total) + 1), _SPREAD_ROWS)
    middle, square = np.zeros(len(count)), np.zeros(len(count))
    for column in parts.parts.T:
        total = np.cumsum(column)
        total[_SPREAD_ROWS:] -= total[:-_SPREAD_ROWS].copy()
        mean = total / count
        middle += mean / parts.parts.shape[1]
        square += mean**2 / parts.parts.shape[1]
    spread: FloatArray = np.sqrt(np.maximum(square - middle**2, 0.0))
    return np.maximum(spread, _SPREAD * np.abs(middle)) + 1e-12


def _spoken(parts: Parts, shift: _Shift) -> int | None:
    """The row at which a shift is spoken, None while that has not come; with a restart, later."""
    first = _restart(parts, shift)
    if first is None:
        return shift.seen
    last = int(np.searchsorted(parts.attempt, parts.attempt[first], side="right")) - 1
    waited = max(shift.seen, first + _WAIT_ROWS)
    if waited <= last:
        return waited
    return last if last + 1 < len(parts.attempt) and last >= shift.seen else None


def _restart(parts: Parts, shift: _Shift) -> int | None:
    """The first row of the later attempt with which a shift began, None if it began by itself."""
    first = int(np.searchsorted(parts.attempt, parts.attempt[shift.start]))
    return first if first > 0 and shift.start - first <= _RESUME_ROWS else None


def _with_restart(finding: Finding, parts: Parts, shift: _Shift) -> Finding:
    """The same as what a restart did: it did not restore the data mix."""
    first = _restart(parts, shift)
    assert first is not None
    start = int(parts.step[first])
    old, new = finding.evidence["shares_before"], finding.evidence["shares"]
    most = max(new, key=lambda name: new[name] - old[name])
    return replace(
        finding,
        kind=Kind.RESUME_ARTIFACT,
        start_step=start,
        severity=Severity.WARNING,
        summary=(
            f"Since the restart at step {start:,} the data is another: {most} makes up {new[most]:.0%} "
            f"instead of {old[most]:.0%}, while the loss of each dataset goes on as before."
        ),
        advice=(
            "Unless it was meant: restore the sampler's weights with the checkpoint, and resume at step "
            f"{start:,} again."
        ),
    )


def _finding(parts: Parts, shift: _Shift, spoken: int) -> Finding:
    after = min(shift.start + _SETTLED, len(parts.total)) if shift.end is None else shift.end
    rows, before = (
        slice(shift.start, max(after, shift.seen + 1)),
        slice(max(shift.start - _KNOWN, 0), shift.start),
    )
    usual = shift.usual
    shares = fitted(parts.total[rows] - usual.middle, parts.parts[rows], usual.shares)
    was, now = parts.parts[before].mean(axis=0), parts.parts[rows].mean(axis=0)
    level, reached = float(parts.total[before].mean()), float(parts.total[rows].mean())
    planned = _planned(parts, before, rows)
    old, new = (usual.shares, shares) if planned is None else planned
    most = int(np.argmax(new - old))
    step = parts.step
    end = None if shift.end is None else int(step[shift.end])
    until = "" if end is None else f" until step {end:,}"
    return Finding(
        kind=Kind.MIXTURE_SHIFT,
        metric=parts.series.key.metric,
        labels=parts.series.key.labels,
        attempt=int(parts.attempt[shift.start]),
        start_step=int(step[shift.start]),
        peak_step=int(step[shift.start]),
        end_step=end,
        detected_step=int(step[spoken]),
        classified_step=int(step[spoken]),
        severity=Severity.WARNING if planned is None else Severity.INFO,
        confidence=0.9 if planned is not None else 0.8,
        summary=(
            f"Loss moved from {figure(level)} to {figure(reached)} at step {int(step[shift.start]):,}{until} "
            f"because the data did: {parts.names[most]} makes up {new[most]:.0%} instead of {old[most]:.0%}, "
            "while the loss of each dataset went on as before."
        ),
        advice=(
            "Compare the sampler's weights and positions with those before this step, and restore the ratio."
            if planned is None
            else "The shares that are logged changed with it. If that was not planned, restore the ratio."
        ),
        evidence={
            "baseline": level,
            "level": reached,
            "noise": usual.noise * float(_spread(parts)[shift.start]),
            "by_shares": float(((was + now) / 2) @ (shares - usual.shares)),
            "by_losses": float(((usual.shares + shares) / 2) @ (now - was)),
            "shares_before": _named(parts, old),
            "shares": _named(parts, new),
            "logged": planned is not None,
        },
    )


def _named(parts: Parts, shares: FloatArray) -> dict[str, float]:
    return {name: round(share, 3) for name, share in zip(parts.names, shares.tolist(), strict=True)}


def _planned(parts: Parts, before: slice, rows: slice) -> tuple[FloatArray, FloatArray] | None:
    """The shares as they were logged before and since, where they say that they changed."""
    if parts.logged is None:
        return None
    was, now = np.median(parts.logged[before], axis=0), np.median(parts.logged[rows], axis=0)
    changed = np.isfinite(was).all() and np.isfinite(now).all() and np.abs(now - was).max() > _LOGGED
    return (was, now) if changed else None
