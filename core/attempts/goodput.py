"""Goodput: a run's wall time by use, such as surviving work, superseded work, restarts and stalls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.types import FloatArray, IntArray, Series, SeriesKey

STALL_FACTOR = 20.0
"""A gap longer than this many median gaps of as many steps, and than a minute, is a stall, not work."""
_MINUTE = 60_000_000
"""Microseconds."""
_BLOCKS, _SMALLEST_BLOCK = 120, 20
"""Number of blocks in which a run's speed is compared with its best, and points of the smallest block."""
_BEST_QUANTILE = 0.95
"""Quantile of the blocks' speeds that counts as the run's best speed."""
_NOISE_SHARE = 0.02
"""A block that is slower by no more than this share, or than chance explains, is as fast as the best."""
_CHANCE_ERRORS = 4.0
"""Standard errors of a block's speed that chance explains."""


class TimeUse(StrEnum):
    """The uses of wall time. They exclude each other, and together they are all of it."""

    FORWARD = "forward"
    """Moving the surviving timeline forward at the run's best speed."""
    SLOW = "slow"
    """The additional time of moving it forward below the run's own best speed."""
    SUPERSEDED = "superseded"
    """Steps that a later attempt repeated."""
    RESTARTS = "restarts"
    """From the last point of an attempt to the first of the next."""
    STALLED = "stalled"
    """Without progress within an attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """The wall time from the first point to the newest, in microseconds by use; the uses add up to it."""

    microseconds: Mapping[TimeUse, int]

    @property
    def total(self) -> int:
        """The total wall time in microseconds."""
        return sum(self.microseconds.values())

    def seconds(self, use: TimeUse) -> float:
        """The seconds of one use."""
        return self.microseconds[use] / 1e6

    def share(self, use: TimeUse) -> float:
        """The share of one use in the total."""
        return self.microseconds[use] / self.total

    def as_json(self) -> dict[str, dict[str, float]]:
        """Seconds and share of each use, in the order of `TimeUse`."""
        return {use.value: {"seconds": self.seconds(use), "share": self.share(use)} for use in TimeUse}


def measure_goodput(
    series: Series, spans: Sequence[AttemptSpan], work: FloatArray | None = None
) -> Goodput | None:
    """How a run's time was spent, by the clock of one of its series (the one logged most).

    `work` [n] is the work of each point's step (sequences of its batch) where that changes, NaN: unknown.
    While a clock goes back, no time passes. Returns None without a clock, or where no time passed.
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
    ghost = superseded_points(attempt, step, spans)[1:]
    steps = np.where(within, np.maximum(np.diff(step), 1), 1)
    moving = _without_stalls(gaps, steps, within)
    forward = np.where(within & ~ghost, moving, 0)
    slow = _below_best(forward, steps, None if work is None else work[clocked][1:])
    return Goodput(
        microseconds={
            TimeUse.FORWARD: int(forward.sum()) - slow,
            TimeUse.SLOW: slow,
            TimeUse.SUPERSEDED: int(moving[within & ghost].sum()),
            TimeUse.RESTARTS: int(gaps[~within].sum()),
            TimeUse.STALLED: int((gaps - moving)[within].sum()),
        }
    )


def clock_series(points: Mapping[SeriesKey, int]) -> SeriesKey | None:
    """The series whose clock measures the run's time: the one with most points, given the points of each.

    Series with steps of their own are left out: they are of machines, collectives or evaluations, and do not
    show the progress of training.
    """
    counted = [key for key, count in points.items() if count and key.step_unit is None]
    return max(counted, key=lambda key: (points[key], key), default=None)


def superseded_steps(span: AttemptSpan, spans: Sequence[AttemptSpan]) -> tuple[int | None, int]:
    """The first step of an attempt that newer attempts superseded (None: none), and the number of these."""
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


def _without_stalls(gaps: IntArray, steps: IntArray, within: np.ndarray) -> IntArray:
    """Microseconds [n] of gaps of so many steps [n]; for a stall, the median time of its steps instead.

    The median is that of a step, since one point of a downsampled series represents many steps.
    """
    if not within.any():
        return gaps
    typical = np.rint(float(np.median((gaps / steps)[within])) * steps).astype(np.int64)
    return np.where(gaps > np.maximum(_MINUTE, STALL_FACTOR * typical), typical, gaps)


def _below_best(spent: IntArray, steps: IntArray, work: FloatArray | None) -> int:
    """Microseconds of those spent on steps [n] that a run would have saved at its own best speed.

    Speed is steps a second, or work a second where all of the work is known; the best speed is that of the
    fastest twentieth of its blocks.
    """
    used = np.flatnonzero(spent > 0)
    if len(used) < 2 * _SMALLEST_BLOCK:
        return 0
    done = steps[used].astype(np.float64)
    if work is not None and np.isfinite(work[used]).all() and (work[used] > 0).all():
        done = done * work[used]
    size = max(_SMALLEST_BLOCK, -(-len(used) // _BLOCKS))
    starts = np.arange(0, len(used) - size + 1, size)
    took = np.add.reduceat(spent[used], starts)
    speed = np.add.reduceat(done, starts) / took
    best = float(np.quantile(speed, _BEST_QUANTILE))
    slack = max(_NOISE_SHARE, _CHANCE_ERRORS * _scatter(done / spent[used]) / float(np.sqrt(size)))
    lost = np.where(speed < best * (1 - slack), took * (1 - speed / best), 0.0)
    return min(int(np.rint(lost.sum())), int(took.sum()))


def _scatter(speed: FloatArray) -> float:
    """Scatter of the speed of single points around its level, as a share."""
    between = np.abs(np.diff(np.log(speed)))
    return float(np.median(between)) / 0.954  # the median of a normal scatter s is 0.6745 * sqrt(2) * s
