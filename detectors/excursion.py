"""Excursions: where a series leaves its own recent level upwards, from when to when, seen causally.

One pass over a series in the order in which it was logged. Points that belong to no excursion become the
history that later points are judged by; while an excursion lasts, the level and noise from before it
stay as they were. An attempt that rolls back takes up the history as it was at its first step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainccinv

from holter.detectors.baseline import FEWEST, MEMORY, History, Noise
from holter.detectors.recovery import Return, follow
from holter.types import FloatArray, IntArray

SHORT = (1, 2, 3, 5)
"""Points whose surprises are added up."""
LONG = (8, 16, 32, 64, 128, 256)
"""Points whose mean is held against the mean before them."""
_GRID, _COARSE_GRID, _COARSE_FROM = 64, 512, 4096
"""The noise is measured anew after so many points; later in a long series more rarely."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Evidence for an excursion: `strength` over 1, at point `at`, by the last `width` points."""

    at: int
    width: int
    strength: float


@dataclass(frozen=True, kw_only=True)
class Excursion:
    """One departure from the level `baseline`; `start`, `detected`, `peak` index the stretch's points."""

    attempt: int
    start: int
    detected: int
    width: int
    baseline: float
    noise: Noise
    strength: float
    returns: Return


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretch:
    """One attempt's points [n] of a series, finite, in the order of their steps."""

    attempt: int
    step: IntArray
    value: FloatArray

    @property
    def spacing(self) -> IntArray:
        """Steps since the point before; the first point's is that of the second."""
        if len(self.step) < 2:
            return np.ones(len(self.step), dtype=np.int64)
        apart = np.diff(self.step)
        return np.maximum(np.concatenate((apart[:1], apart)), 1)


def stretches_of(attempt: IntArray, step: IntArray, value: FloatArray) -> list[Stretch]:
    """A series cut into its attempts, without what is not finite. Huge values are bounded, so that their
    sums stay finite."""
    finite = np.isfinite(value)
    attempt, step, value = attempt[finite], step[finite], np.clip(value[finite], -1e100, 1e100)
    edges = np.flatnonzero(np.diff(attempt)) + 1
    return [
        Stretch(attempt=int(a[0]), step=s, value=v)
        for a, s, v in zip(
            np.split(attempt, edges), np.split(step, edges), np.split(value, edges), strict=True
        )
        if len(a)
    ]


def excursions_of(stretches: list[Stretch], *, sensitivity: float = 1.0) -> Iterator[Excursion]:
    """Every excursion of a series, attempt by attempt."""
    snapshots: dict[int, History] = {}
    firsts = [int(stretch.step[0]) for stretch in stretches]
    for number, stretch in enumerate(stretches):
        begin = snapshots.get(firsts[number], None) if number else History.empty()
        if begin is None:
            begin = snapshots.get(-1, History.empty())
        scan = _Scan(stretch, begin, sensitivity, stops=sorted(set(firsts[number + 1 :])))
        yield from scan.run()
        snapshots.update(scan.snapshots)
        snapshots[-1] = scan.history


class _Scan:
    """Goes through one stretch; keeps the history, and copies of it at the steps where others begin."""

    def __init__(self, stretch: Stretch, history: History, sensitivity: float, stops: list[int]) -> None:
        self.stretch = stretch
        self.history = history
        self.sensitivity = sensitivity
        self.spacing = stretch.spacing
        self.stops = {
            int(np.searchsorted(stretch.step, stop)): stop for stop in stops if stop > stretch.step[0]
        }
        self.snapshots: dict[int, History] = {}

    def run(self) -> Iterator[Excursion]:
        at, end = 0, len(self.stretch.step)
        while at < end:
            if at in self.stops:
                self.snapshots[self.stops[at]] = self.history
            upto = self._next_cut(at, end)
            noise = self.history.noise(int(self.spacing[at]))
            values = self.stretch.value[at:upto]
            centres = self.history.centres(values)
            alarm = None if noise is None else self._alarm(at, values, centres, noise)
            if alarm is None:
                self.history = self.history.accept(values, centres, self.spacing[at:upto], noise)
                at = upto
            else:
                assert noise is not None
                excursion = self._open(at, alarm, values, centres, noise)
                yield excursion
                at = self._close(excursion)

    def _next_cut(self, at: int, end: int) -> int:
        """Where this piece ends: the noise is constant within it, and so is the spacing, or it grows."""
        count = self.history.count
        grid = _GRID if count < _COARSE_FROM else _COARSE_GRID
        if count < 2 * FEWEST:
            grid = 8
        cut = min(at + grid - count % grid, end)
        finer = np.flatnonzero(self.spacing[at + 1 : cut] * 1.5 < self.spacing[at : cut - 1])
        if len(finer):
            cut = at + 1 + int(finer[0])
        return min([cut, *(stop for stop in self.stops if stop > at)])

    def _alarm(self, at: int, values: FloatArray, centres: FloatArray, noise: Noise) -> Alarm | None:
        strength = np.zeros(len(values))
        width = np.zeros(len(values), dtype=np.int64)
        for points, found in (*self._short(values, centres, noise), *self._long(values, centres, noise)):
            better = found > strength
            strength[better], width[better] = found[better], points
        loud = np.flatnonzero(strength * self.sensitivity >= 1)
        if not len(loud):
            return None
        first = int(loud[0])
        return Alarm(at=at + first, width=int(width[first]), strength=float(strength[first]))

    def _short(
        self, values: FloatArray, centres: FloatArray, noise: Noise
    ) -> Iterator[tuple[int, FloatArray]]:
        residual = np.concatenate((self.history.residual[-SHORT[-1] :], values - centres))
        total = np.concatenate(([0.0], np.cumsum(np.minimum(noise.surprise(residual), 1e6))))
        known = len(residual) - len(values)
        for points in SHORT:
            if points <= known:
                ends = np.arange(known + 1, len(residual) + 1)
                yield points, (total[ends] - total[ends - points]) / _ASKED[points]
        excess = values - centres
        level = np.abs(centres)
        # one batch that is a fifth above the level is an event, whatever the tail says
        yield 1, np.minimum(excess / np.maximum(0.2 * level, 1e-300), excess / (8 * noise.sigma))

    def _long(
        self, values: FloatArray, centres: FloatArray, noise: Noise
    ) -> Iterator[tuple[int, FloatArray]]:
        reach = 4.0 * noise.sigma
        pulled = centres + np.clip(values - centres, -reach, reach)
        both = np.concatenate((self.history.pulled[-MEMORY:], pulled))
        total = np.concatenate(([0.0], np.cumsum(both)))
        ends = np.arange(len(both) - len(values) + 1, len(both) + 1)
        level = np.abs(centres)
        for points in LONG:
            before = np.minimum(max(64, 2 * points), ends - points)
            enough = before >= max(FEWEST, points)
            if not enough.any():
                break
            now = (total[ends] - total[ends - points]) / points
            earlier = (total[ends - points] - total[np.maximum(ends - points - before, 0)]) / np.maximum(
                before, 1
            )
            wander = noise.wander8 if points < 32 else max(noise.wander32, noise.wander8)
            error = noise.sigma * wander * np.sqrt(1 / points + 1 / np.maximum(before, 1))
            rise = now - earlier
            z = np.minimum(rise / (5.5 * error), rise / np.maximum(0.02 * level, 1e-300))
            yield points, np.where(enough, z, 0.0)

    def _open(
        self, at: int, alarm: Alarm, values: FloatArray, centres: FloatArray, noise: Noise
    ) -> Excursion:
        """The excursion behind an alarm: the history keeps only what was before its start."""
        seen = alarm.at - at
        self.history = self.history.accept(values[:seen], centres[:seen], self.spacing[at : alarm.at], noise)
        start = self._onset(alarm, noise)
        self.history = self.history.without_last(alarm.at - start)
        reference = self.history.pulled[-64:]
        baseline = float(np.mean(reference)) if len(reference) else float(values[0])
        return Excursion(
            attempt=self.stretch.attempt,
            start=start,
            detected=alarm.at,
            width=alarm.width,
            baseline=baseline,
            noise=noise,
            strength=alarm.strength,
            returns=follow(
                self.stretch.step[start:],
                self.stretch.value[start:],
                seen=alarm.at - start,
                baseline=baseline,
                noise=noise,
            ),
        )

    def _onset(self, alarm: Alarm, noise: Noise) -> int:
        """Where it began: the stretch of points up to the alarm that stands out most, cut to its first
        point above the noise. Late rather than early, and never before this attempt."""
        first = max(alarm.at - max(alarm.width, 5) + 1, 0)
        window = self.stretch.value[first : alarm.at + 1]
        before = self.history.without_last(alarm.at - first).pulled[-64:]
        level = float(np.mean(before)) if len(before) else float(window[0])
        excess = np.minimum(window - level, 6 * noise.sigma)
        suffix = np.cumsum(excess[::-1])[::-1]
        start = int(np.argmax(suffix / np.sqrt(np.arange(len(window), 0, -1))))
        above = np.flatnonzero(excess[start:] > noise.sigma)
        return first + start + (int(above[0]) if len(above) else 0)

    def _close(self, excursion: Excursion) -> int:
        """Go on after the excursion: the points it came back with are history."""
        returns = excursion.returns
        if returns.confirmed is None or returns.back is None:
            return len(self.stretch.step)
        first, upto = excursion.start + returns.back, excursion.start + returns.resume
        values = self.stretch.value[first:upto]
        self.history = self.history.accept(
            values, self.history.centres(values), self.spacing[first:upto], excursion.noise
        )
        return upto


_ASKED = {points: float(gammainccinv(points, 1e-8)) for points in SHORT}
"""Sums of -ln p of so many points are Gamma distributed; exceeded once in 1e8 by chance."""
