"""How a run's wall time was spent: on work that counts, slowly, on work thrown away, on nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from holter.attempts.superseded import Span, superseded
from holter.types import FloatArray, IntArray, Series, SeriesKey

STANDSTILL = 20.0
"""A gap of more than this many usual ones of as many steps (and of a minute) is standing still, not work."""
_MINUTE = 60_000_000
_BLOCKS, _SMALLEST = 120, 20
"""In so many blocks, of at least so many points each, the speed of a run is compared with its best."""
_BEST = 0.95
_NOISE = 0.02
"""A block that is slower by no more, and by no more than chance makes it, is as fast as the best."""
_CHANCE = 4.0
"""So many standard errors of a block's speed are chance."""


class Spent(StrEnum):
    """What time went into. They exclude each other, and together they are all of it."""

    FORWARD = "forward"
    """Moved the surviving timeline forward, as fast as the run can."""
    SLOW = "slow"
    """Moved it forward below the run's own best speed: what that took longer."""
    SUPERSEDED = "superseded"
    """Steps that a later attempt did again."""
    RESTARTS = "restarts"
    """From the last point of an attempt to the first of the next."""
    STALLED = "stalled"
    """Stood still within an attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """The wall time from the first point to the newest: microseconds by what they went into, without rest."""

    microseconds: Mapping[Spent, int]

    @property
    def total(self) -> int:
        """The whole wall time in microseconds."""
        return sum(self.microseconds.values())

    def seconds(self, what: Spent) -> float:
        """Seconds that went into something."""
        return self.microseconds[what] / 1e6

    def share(self, what: Spent) -> float:
        """Its share of the whole."""
        return self.microseconds[what] / self.total

    def as_json(self) -> dict[str, dict[str, float]]:
        """Seconds and share by what they went into, in the order of `Spent`."""
        return {what.value: {"seconds": self.seconds(what), "share": self.share(what)} for what in Spent}


def goodput(series: Series, spans: Sequence[Span], work: FloatArray | None = None) -> Goodput | None:
    """How a run's time was spent, by the clock of one of its series (the one logged most).

    `work` [n]: how much a step of each point does (sequences of its batch), where that changes; NaN: not
    said. A clock that goes back stands still meanwhile. None: no clock, or no time passed.
    """
    clocked = np.isfinite(series.time) & (np.abs(series.time) < 1e12)
    if np.count_nonzero(clocked) < 2:
        return None
    attempt, step = series.attempt[clocked], series.step[clocked]
    clock = np.maximum.accumulate(np.rint(series.time[clocked] * 1e6).astype(np.int64))
    gaps = np.diff(clock)
    if not gaps.sum():
        return None
    within = attempt[1:] == attempt[:-1]
    ghost = superseded(attempt, step, spans)[1:]
    steps = np.where(within, np.maximum(np.diff(step), 1), 1)
    moving = _without_standstills(gaps, steps, within)
    forward = np.where(within & ~ghost, moving, 0)
    slow = _below_best(forward, steps, None if work is None else work[clocked][1:])
    return Goodput(
        microseconds={
            Spent.FORWARD: int(forward.sum()) - slow,
            Spent.SLOW: slow,
            Spent.SUPERSEDED: int(moving[within & ghost].sum()),
            Spent.RESTARTS: int(gaps[~within].sum()),
            Spent.STALLED: int((gaps - moving)[within].sum()),
        }
    )


def clock_of(points: Mapping[SeriesKey, int]) -> SeriesKey | None:
    """Of series with so many points, the one by whose clock time is told: that logged most.

    What has steps of its own tells of machines, collectives or evaluations, not of how training went on.
    """
    counted = [key for key, count in points.items() if count and key.own_steps is None]
    return max(counted, key=lambda key: (points[key], key), default=None)


def lost_from(span: Span, spans: Sequence[Span]) -> tuple[int | None, int]:
    """The first step of an attempt that newer attempts superseded (None: none), and how many they are."""
    newest = max((other.number for other in spans), default=span.number)
    reaches = sorted(
        (
            max(other.first_step, span.first_step),
            span.last_step if other.number == newest else other.last_step,
        )
        for other in spans
        if other.number > span.number and other.first_step <= span.last_step
    )
    lost, reached = 0, span.first_step - 1
    first = None
    for begin, end in reaches:
        begin, end = max(begin, reached + 1), min(end, span.last_step)
        if begin <= end:
            first = begin if first is None else first
            lost += end - begin + 1
            reached = end
    return first, lost


def _without_standstills(gaps: IntArray, steps: IntArray, within: np.ndarray) -> IntArray:
    """Microseconds [n] of gaps of so many steps [n]; of one that stood still, what its steps usually take.

    By the step, for where points were thinned few of them stand for many steps.
    """
    if not within.any():
        return gaps
    usual = np.rint(float(np.median((gaps / steps)[within])) * steps).astype(np.int64)
    return np.where(gaps > np.maximum(_MINUTE, STANDSTILL * usual), usual, gaps)


def _below_best(spent: IntArray, steps: IntArray, work: FloatArray | None) -> int:
    """How many microseconds of those spent on steps [n] a run would have saved at its own best speed.

    Speed is steps a second, or work a second where all that is known; the best is what the fastest
    twentieth of its blocks reach.
    """
    used = np.flatnonzero(spent > 0)
    if len(used) < 2 * _SMALLEST:
        return 0
    done = steps[used].astype(np.float64)
    if work is not None and np.isfinite(work[used]).all() and (work[used] > 0).all():
        done = done * work[used]
    size = max(_SMALLEST, -(-len(used) // _BLOCKS))
    starts = np.arange(0, len(used) - size + 1, size)
    took = np.add.reduceat(spent[used], starts)
    speed = np.add.reduceat(done, starts) / took
    best = float(np.quantile(speed, _BEST))
    slack = max(_NOISE, _CHANCE * _scatter(done / spent[used]) / float(np.sqrt(size)))
    lost = np.where(speed < best * (1 - slack), took * (1 - speed / best), 0.0)
    return min(int(np.rint(lost.sum())), int(took.sum()))


def _scatter(speed: FloatArray) -> float:
    """How much the speed of single points scatters, as a share; levels do not count."""
    between = np.abs(np.diff(np.log(speed)))
    return float(np.median(between)) / 0.954  # of a normal scatter s, the median is 0.6745 * sqrt(2) * s
