"""The scan of a series for excursions: one pass over it in the order in which it was logged.

Points that belong to no excursion become the history that later points are judged by; while an excursion
lasts, the level and noise from before it stay as they were. An attempt that rolls back takes up the history
as it was at its first step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import numpy as np

from holter.detectors.loss.excursions.baseline import History, Noise
from holter.detectors.loss.excursions.excursion import Excursion
from holter.detectors.loss.excursions.recovery import DRIFT, half_of, rose_slowly, unfollowed
from holter.detectors.loss.excursions.restart_level import FIRST_POINTS, LR_POINTS, Entry
from holter.detectors.loss.excursions.segment import Stretch
from holter.detectors.loss.excursions.statistics import OUTLIER, lone, means, sums
from holter.types import FloatArray

_SLOW = 32
_LOOK_BACK = 512
"""The level before a rise seen by that many points or more is the lowest within so many points."""
_GRIDS = ((64, 8), (4096, 64), (65536, 512), (np.inf, 2048))
"""Up to so many points, the noise is measured anew after so many: more rarely later in a long series."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Evidence for an excursion: `strength` over 1, at point `at`, by the last `width` points; `explained`
    where it is a lone point such as this noise has."""

    at: int
    width: int
    strength: float
    explained: bool = False


Belief = Callable[[Stretch, int, int], FloatArray]
"""What the evidence at the points of a stretch from one to another (not included) is multiplied by."""


def _plain(_: Stretch, first: int, after: int) -> FloatArray:
    return np.ones(after - first)


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """What a scan knows between two pieces: before point `at` of the stretch with a `number`.

    The first `count` of `found` were found by then, and `lasting` is the number of the last that was told.
    """

    number: int
    at: int
    history: History
    entry: Entry | None
    is_low: bool
    lasting: int | None
    found: list[Excursion]
    count: int
    doubtful: frozenset[int]

    def holds(self, stretches: list[Stretch], doubtful: Collection[int]) -> bool:
        """Whether a scan may go on from here: attempts that began since take the run up at a later point, or
        one that is still to be scanned; and those so far began as they were thought to."""
        if self.doubtful != frozenset(one.attempt for one in stretches[: self.number + 1]) & set(doubtful):
            return False
        for number in range(self.number + 1, len(stretches)):
            first = int(stretches[number].step[0])
            over = [one for one in stretches[:number] if one.step[0] < first <= one.step[-1]]
            if not over:
                continue
            begun = stretches.index(over[-1])
            if begun < self.number or (
                begun == self.number and int(np.searchsorted(over[-1].step, first)) < self.at
            ):
                return False
        return True


def excursions_of(
    stretches: list[Stretch],
    *,
    doubtful: Collection[int] = (),
    belief: Belief = _plain,
    since: Standing | None = None,
    keep: Callable[[Standing], None] | None = None,
) -> list[Excursion]:
    """Every excursion of a series, attempt by attempt; `doubtful` attempts began with another setting.

    `since`: where to go on; `keep` is told of every place from which one might.
    """
    found = [] if since is None else _so_far(stretches, since)
    snapshots: dict[int, History] = {}
    firsts = [int(stretch.step[0]) for stretch in stretches]
    latest = History.empty()
    for number in range(0 if since is None else since.number, len(stretches)):
        stretch = stretches[number]
        scan = _Scan(stretch, found, belief, stops=sorted(set(firsts[number + 1 :])))
        if since is not None and number == since.number:
            scan.go_on(since)
        else:
            history = snapshots.get(firsts[number], latest)
            entry = Entry(history=history, doubtful=stretch.attempt in doubtful) if number else None
            scan.begin(history, entry)
        for at in scan.run():
            if keep is not None:
                begun = frozenset(one.attempt for one in stretches[: number + 1]) & set(doubtful)
                keep(scan.standing(number, at, begun))
        snapshots.update(scan.snapshots)
        latest = scan.history
    return found


def _so_far(stretches: list[Stretch], since: Standing) -> list[Excursion]:
    by_attempt = {stretch.attempt: stretch for stretch in stretches}
    return [one.followed(by_attempt[one.attempt]) for one in since.found[: since.count]]


class _Scan:
    """Goes through one stretch; keeps the history, and copies of it at the steps where others begin."""

    def __init__(self, stretch: Stretch, found: list[Excursion], belief: Belief, stops: list[int]) -> None:
        self.stretch = stretch
        self.found = found
        self.belief = belief
        within = [stop for stop in stops if stretch.step[0] < stop <= stretch.step[-1]]
        self.stops = {int(np.searchsorted(stretch.step, stop)): stop for stop in within}
        self.snapshots: dict[int, History] = {}

    def begin(self, history: History, entry: Entry | None) -> None:
        """Stand at the first point, with what is known there."""
        self.at = 0
        self.history = history
        self.entry = entry
        self.is_low = False
        self.lasting: int | None = None

    def go_on(self, since: Standing) -> None:
        """Stand where another scan of the same stretch did."""
        self.at = since.at
        self.history = since.history
        self.entry = since.entry
        self.is_low = since.is_low
        self.lasting = since.lasting

    def standing(self, number: int, at: int, doubtful: frozenset[int]) -> Standing:
        return Standing(
            number=number,
            at=at,
            history=self.history,
            entry=self.entry,
            is_low=self.is_low,
            lasting=self.lasting,
            found=self.found,
            count=len(self.found),
            doubtful=doubtful,
        )

    def run(self) -> Iterator[int]:
        """Look at piece after piece; yields each point before which nothing can change any more."""
        at, end = self.at, len(self.stretch.step)
        while at < end:
            upto, is_whole = self._next_cut(at, end)
            noise = self.history.noise(self.stretch.apart(at))
            values = self.stretch.value[at:upto]
            centres = self.history.centres(values)
            if noise is not None and self.entry is not None and not self.is_low:
                self._low(at, upto, noise)
            alarm = None if noise is None else self._alarm(at, values, centres, noise)
            self._snapshot(at, upto if alarm is None else alarm.at, values, centres, noise)
            if alarm is None:
                spacing = self.stretch.spacing(at, upto)
                self.history = self.history.accept(values, centres, spacing, noise)
                at = upto
            else:
                assert noise is not None
                excursion = self._open(at, alarm, values, centres, noise)
                if not self._goes_on(excursion):
                    self.lasting = len(self.found)
                    self.found.append(excursion)
                at = self._close(excursion)
                is_whole = at < end
            if is_whole:
                yield at

    def _goes_on(self, excursion: Excursion) -> bool:
        """Whether it belongs to one that has not come back: a rise by less than half of what that rose, one
        of a drift that has not settled yet, or one that leads a drift no higher than it was."""
        if self.lasting is None:
            return False
        earlier = self.found[self.lasting]
        confirmed = earlier.returns.confirmed
        if confirmed is not None and earlier.start + confirmed <= excursion.detected:
            return False
        values = self.stretch.value
        highest = float(values[earlier.start : excursion.start].max(initial=earlier.baseline))
        now = float(values[excursion.start : excursion.detected + 1].mean())
        if earlier.width >= DRIFT and now < highest:
            return True
        if not earlier.returns.settled and self._drifts(earlier, excursion.detected):
            return True
        return now - excursion.baseline < 0.5 * (highest - earlier.baseline)

    def _drifts(self, excursion: Excursion, upto: int) -> bool:
        """Whether it rose slowly, as far as the points before `upto` tell."""
        if excursion.width >= DRIFT:
            return True
        step = self.stretch.step[excursion.start : upto]
        half = half_of(step, self.stretch.value[excursion.start : upto] - excursion.baseline)
        return rose_slowly(step, half=half)

    def _next_cut(self, at: int, end: int) -> tuple[int, bool]:
        """Where this piece ends: the noise is constant within it, and so is the spacing, or it grows; and
        whether it would end there with more points too."""
        count = self.history.count
        grid = next(apart for upto, apart in _GRIDS if count < upto)
        whole = at + grid - count % grid
        cut = min(whole, end)
        spacing = self.stretch.spacing(at, cut)
        finer = np.flatnonzero(spacing[1:] * 1.5 < spacing[:-1])
        return (at + 1 + int(finer[0]), True) if len(finer) else (cut, cut == whole)

    def _snapshot(
        self, at: int, upto: int, values: FloatArray, centres: FloatArray, noise: Noise | None
    ) -> None:
        """Note the history at the steps within a piece at which other attempts begin."""
        for stop, step in self.stops.items():
            if at <= stop < upto:
                seen = stop - at
                self.snapshots[step] = self.history.accept(
                    values[:seen], centres[:seen], self.stretch.spacing(at, stop), noise
                )

    def _alarm(self, at: int, values: FloatArray, centres: FloatArray, noise: Noise) -> Alarm | None:
        strength = np.zeros(len(values))
        width = np.zeros(len(values), dtype=np.int64)
        what = (self.history, values, centres, noise)
        looks = [*sums(*what), *means(*what), *lone(*what)]
        if self.entry is not None and at < LR_POINTS:
            known = self.stretch.value[: at + len(values)]
            looks.insert(0, (_RESUMED, self.entry.strength(known, noise)[at:]))
        for points, found in looks:
            # an outlier is what nothing else explains
            better = (found > strength) & ((points != OUTLIER) | (strength < 1))
            strength[better], width[better] = found[better], points
        strength *= self.belief(self.stretch, at, at + len(values))
        loud = np.flatnonzero(strength >= 1)
        if not len(loud):
            return None
        first = int(loud[0])
        points, explained = int(width[first]), bool(width[first] == OUTLIER)
        return Alarm(
            at=at + first,
            width=1 if explained else points,
            strength=min(float(strength[first]), 1e6),
            explained=explained,
        )

    def _low(self, at: int, upto: int, noise: Noise) -> None:
        """A restart after which the loss lies lower than it should. Nothing waits for its end: it stays
        history, and the level that later rises are held against."""
        assert self.entry is not None
        if at >= LR_POINTS:
            return
        strength = self.entry.strength(self.stretch.value[:upto], noise, down=True)[at:]
        if not (strength >= 1).any():
            return
        self.is_low = True
        detected = at + int(np.argmax(strength >= 1))
        found = Excursion(
            attempt=self.stretch.attempt,
            start=0,
            detected=detected,
            width=detected + 1,
            baseline=float(np.mean(self.entry.history.pulled[-64:])),
            noise=noise,
            strength=min(float(strength.max()), 1e6),
            resumed=True,
            down=True,
            returns=unfollowed(len(self.stretch.step)),
        )
        self.found.append(found)

    def _open(
        self, at: int, alarm: Alarm, values: FloatArray, centres: FloatArray, noise: Noise
    ) -> Excursion:
        """The excursion behind an alarm: the history keeps only what was before its start."""
        seen = alarm.at - at
        self.history = self.history.accept(
            values[:seen], centres[:seen], self.stretch.spacing(at, alarm.at), noise
        )
        start = self._onset(alarm, noise)
        near = LR_POINTS if self.entry is not None and self.entry.doubtful else FIRST_POINTS
        resumed = self.entry is not None and start < near and not alarm.explained
        if resumed:
            start = 0
        self.history = self.history.without_last(alarm.at - start)
        self.entry = self.entry if alarm.explained else None
        baseline = self._level(alarm) if len(self.history.pulled) else float(values[0])
        excursion = Excursion(
            attempt=self.stretch.attempt,
            start=start,
            detected=alarm.at,
            width=alarm.width,
            baseline=baseline,
            noise=noise,
            strength=alarm.strength,
            belief=float(self.belief(self.stretch, alarm.at, alarm.at + 1)[0]),
            resumed=resumed,
            explained=alarm.explained,
            fall=self.history.fall(noise),
            returns=unfollowed(0),
        )
        return excursion.followed(self.stretch)

    def _level(self, alarm: Alarm) -> float:
        """The level before an excursion; before a slow rise the lowest of the last levels."""
        level = float(np.mean(self.history.pulled[-64:]))
        recent = self.history.pulled[-_LOOK_BACK:]
        if alarm.width < _SLOW or len(recent) < 64:
            return level
        total = np.concatenate(([0.0], np.cumsum(recent)))
        return min(level, float(np.min(total[64:] - total[:-64])) / 64)

    def _onset(self, alarm: Alarm, noise: Noise) -> int:
        """Where it began: the stretch of points up to the alarm that stands out most, from where it is
        half as high as it is on average. Late rather than early, and never before this attempt."""
        if alarm.width == _RESUMED:
            return 0
        first = max(alarm.at - max(alarm.width, 5) + 1, 0)
        window = self.stretch.value[first : alarm.at + 1]
        before = self.history.without_last(alarm.at - first).pulled[-64:]
        level = float(np.mean(before)) if len(before) else float(window[0])
        excess = np.minimum(window - level, 6 * noise.sigma)
        suffix = np.cumsum(excess[::-1])[::-1] / np.arange(len(window), 0, -1)
        start = int(np.argmax(suffix * np.sqrt(np.arange(len(window), 0, -1))))
        # means of three points, of fewer at the end, and of single points that stand out by themselves
        total = np.concatenate(([0.0], np.cumsum(excess[start:])))
        ends = np.minimum(np.arange(len(total) - 1) + 3, len(total) - 1)
        mean = (total[ends] - total[:-1]) / (ends - np.arange(len(total) - 1))
        high = (mean >= max(0.5 * suffix[start], noise.sigma)) & (excess[start:] > 0.5 * noise.sigma)
        begin = first + start + (int(np.argmax(high)) if high.any() else 0)
        # a precursor says when: what rose before it was noise
        belief = self.belief(self.stretch, begin, alarm.at + 1)
        believed = belief > belief[0]
        return begin + int(np.argmax(believed)) if believed.any() else begin

    def _close(self, excursion: Excursion) -> int:
        """Go on after the excursion: the points it came back with, or settled at, are history."""
        returns = excursion.returns
        upto = excursion.start + returns.resume
        for stop, step in self.stops.items():
            if excursion.detected < stop < upto:
                # who takes up the run amid an excursion takes it up at the level it had there
                first = max(stop - _LOOK_BACK, excursion.start)
                self.snapshots[step] = self._with(History.empty(), first, stop, excursion.noise)
        level_from = excursion.start + returns.level_from
        is_back = returns.back is not None and returns.back == returns.level_from
        before = self.history if is_back else History.empty()
        self.history = self._with(before, level_from, upto, excursion.noise)
        return upto

    def _with(self, history: History, first: int, upto: int, noise: Noise) -> History:
        values = self.stretch.value[first:upto]
        return history.accept(values, history.centres(values), self.stretch.spacing(first, upto), noise)


_RESUMED = 0
"""In place of a width: the evidence is held against the level before the restart."""
