"""Precursors: what other series say about the moment at which the loss may be leaving its trend.

A jump of the gradient norm, or of the learning rate to where it has never been, makes a rise of the loss
easier to believe; a planned warm restart of the learning rate makes it harder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import maximum_filter1d, median_filter

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.excursions.segment import Stretch
from holter.detectors.positions import rows_of_attempt
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_CENTRE, _SPREAD = 49, 129
_SETTLED = 300
"""Points after which a gradient norm is past its own beginnings."""
_LASTS = 10
"""Points for which a jump of the gradient norm says something about the loss."""
_BELIEF = 0.4
"""A clear jump makes the evidence asked of the loss smaller by 1 + this."""
_FROM, _CLEAR = 6.0, 10.0
"""Standard errors at which a jump begins to count, and at which it counts fully."""
_RATE_JUMP, _RATE_LASTS, _RESTART_LASTS = 1.5, 100, 1000
"""A learning rate that jumps by so much counts for so many points; where it had been as high before, as a
planned warm restart is, it counts for as many as the longest means that see it."""
_RATE_BACK = 20
_CLIMB, _CLIMBED = 4096, (1.2, 1.5)
"""Points within which a climb of the learning rate is followed back to where it began; and the ratio to its
highest before at which it begins to count, and counts fully."""
_STRIDE, _STEADY, _WARMED = 8, 5e-4, 64
"""A rate that rises by more than so much in so many points climbs; one that always did is warming up."""
_WARM_RESTART = 0.4


_LOOK_BACK = 256
"""Points before those asked about, on which what is said of them rests."""
_BLOCK = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class Precursors:
    """What the gradient norm and the learning rate say, where they are logged.

    `highest` [n / 1024] are the highest learning rates in the rows up to each block of so many.
    """

    norm: Series | None
    rate: Series | None
    highest: FloatArray

    @property
    def series(self) -> list[Series]:
        """Those that are logged."""
        return [one for one in (self.norm, self.rate) if one is not None]

    def at(self, stretch: Stretch, first: int, after: int) -> FloatArray:
        """The factor that evidence from the loss is multiplied by at the points of a stretch from `first` to
        `after` (not included), from what was logged up to the step of each."""
        steps = stretch.step[first:after]
        factor = np.ones(len(steps))
        for series, weigh in ((self.norm, _belief_by_gradient), (self.rate, self._belief_by_rate)):
            if series is not None and len(steps):
                factor *= _at_steps(series, stretch.attempt, steps, weigh)
        return factor

    def _belief_by_rate(self, series: Series, begun: int, first: int, after: int) -> FloatArray:
        back = max(begun, first - _RESTART_LASTS)
        # the first row stands for what was before it
        rate = series.value[np.maximum(np.arange(back - 3 * _RATE_BACK, after), begun)]
        rate = np.where(np.isfinite(rate), rate, 0.0)
        long_before, before, now = (
            rate[: after - back],
            rate[2 * _RATE_BACK : -_RATE_BACK],
            rate[3 * _RATE_BACK :],
        )
        upto = max(back - _RATE_BACK, begun)
        best = np.maximum.accumulate(np.maximum(before, self._highest(series, upto)))
        jumped = now > _RATE_JUMP * np.maximum(before, 1e-300)
        # not a warm-up, which comes from below
        jumped &= (before > 0) & (before < 1.1 * long_before)
        jumped[: max(begun + 3 * _RATE_BACK - back, 0)] = False
        unheard_of = _lasting(jumped & (now > 1.2 * best), _RATE_LASTS)
        restarted = _lasting(jumped & (now <= 1.2 * best), _RESTART_LASTS) & ~unheard_of
        belief = np.where(unheard_of, 1 + _BELIEF, np.where(restarted, _WARM_RESTART, 1.0))
        climb = self._belief_by_climb(series, begun, first, after)
        return np.where(climb > 1, np.maximum(belief[first - back :], climb), belief[first - back :])

    def _belief_by_climb(self, series: Series, begun: int, first: int, after: int) -> FloatArray:
        """A learning rate that climbs, little by little, to where it has never been after its warm-up."""
        back = max(begun, first - _CLIMB - _RATE_LASTS)
        rate = np.where(np.isfinite(series.value[back:after]), series.value[back:after], 0.0)
        before = self._highest(series, back)
        if back > begun and rate.max(initial=0.0) <= _CLIMBED[0] * before:
            return np.ones(after - first)
        calm = np.zeros(len(rate), dtype=bool)
        calm[_STRIDE:] = rate[_STRIDE:] <= (1 + _STEADY) * rate[:-_STRIDE]
        calm[: max(begun + _WARMED - back, 0)] = False
        row = np.arange(len(rate))
        since = np.maximum.accumulate(np.where(calm, row, -1))
        known = (since >= 0) & (row - since <= _CLIMB - _STRIDE)
        best = np.maximum(np.maximum.accumulate(rate), before)[np.maximum(since, 0)]
        low, high = np.log(_CLIMBED)
        with np.errstate(divide="ignore", invalid="ignore"):
            climbed = np.clip((np.log(rate / best) - low) / (high - low), 0.0, 1.0)
        climbed = np.where(known & (best > 0), climbed, 0.0)
        lasting = maximum_filter1d(climbed, _RATE_LASTS, origin=(_RATE_LASTS - 1) // 2, mode="nearest")
        return 1 + _BELIEF * np.asarray(lasting[first - back :])

    def _highest(self, series: Series, upto: int) -> float:
        """The highest learning rate in the rows before one; no less than zero."""
        whole = upto // _BLOCK
        return max(
            float(self.highest[whole - 1]) if whole else 0.0, _highest_of(series.value[whole * _BLOCK : upto])
        )


def _highest_of(rate: FloatArray) -> float:
    return float(np.max(rate, initial=0.0, where=np.isfinite(rate)))


_Weigh = Callable[[Series, int, int, int], FloatArray]


def _at_steps(series: Series, attempt: int, steps: IntArray, weigh: _Weigh) -> FloatArray:
    """What a series says at steps [n] of an attempt, by its last row up to each; 1 before the first."""
    span = rows_of_attempt(series, attempt)
    row = span.first + np.searchsorted(series.step[span.rows], steps, side="right") - 1
    said = np.ones(len(steps))
    known = row >= span.first
    if known.any():
        first, after = int(row[known][0]), int(row[known][-1]) + 1
        said[known] = weigh(series, span.first, first, after)[row[known] - first]
    return said


def precursors_of(run: RunData, state: IncrementalState) -> Precursors:
    """The precursors in a run's gradient norm and learning rate; the first series of each, by name."""
    found = [
        next((run.series[key] for key in sorted(run.series) if role_of(key) is role), None)
        for role in (Role.GRAD_NORM, Role.LEARNING_RATE)
    ]
    norm, rate = found
    highest = np.empty(0) if rate is None else _highest_by_block(rate, state)
    return Precursors(norm=norm, rate=rate, highest=highest)


def _highest_by_block(series: Series, state: IncrementalState) -> FloatArray:
    checkpoints: ScanCheckpoints[FloatArray] = state.checkpoints(("highest", series.key), [series])
    checkpoint = checkpoints.latest([series])
    known = checkpoint.state if checkpoint else np.empty(0)
    whole = len(series) // _BLOCK
    if whole > len(known):
        blocks = range(len(known), whole)
        fresh = [_highest_of(series.value[block * _BLOCK : (block + 1) * _BLOCK]) for block in blocks]
        known = np.maximum.accumulate(np.concatenate((known, fresh)))
        checkpoints.save(Checkpoint(known, (whole * _BLOCK,)))
    return known


def _trailing_median(values: FloatArray, size: int) -> FloatArray:
    """For each value the median of the `size` values before it."""
    median = median_filter(values, size=size, origin=size // 2, mode="nearest")
    return np.concatenate((values[:1], median[:-1]))


def _belief_by_gradient(series: Series, begun: int, first: int, after: int) -> FloatArray:
    back = max(begun, first - _LOOK_BACK)
    values = series.value[back:after]
    with np.errstate(invalid="ignore"):
        logs = np.log(np.clip(np.where(np.isfinite(values), values, 1e6), 1e-12, 1e12))
    above = logs - _trailing_median(logs, _CENTRE)
    spread = 1.4826 * _trailing_median(np.abs(above), _SPREAD)
    score = np.clip(above / np.maximum(spread, 0.02), -_CLEAR, _CLEAR)
    score[: max(begun + _SETTLED - back, 0)] = 0.0
    jump = np.zeros(len(score))
    for points in (points for points in (2, 3, 5, 8) if points <= len(score)):
        # added up anew for each point: the sum must not depend on where one began to add
        total = sliding_window_view(score, points).sum(axis=1)
        jump[points - 1 :] = np.maximum(jump[points - 1 :], total / points**0.5)
    recent = maximum_filter1d(jump, _LASTS, origin=(_LASTS - 1) // 2, mode="nearest")
    return 1 + _BELIEF * np.clip((recent[first - back :] - _FROM) / (_CLEAR - _FROM), 0.0, 1.0)


def _lasting(marks: np.ndarray, points: int) -> np.ndarray:
    """True for so many points from each mark on."""
    total = np.concatenate(([0], np.cumsum(marks)))
    ends = np.arange(1, len(total))
    return (total[ends] - total[np.maximum(ends - points, 0)]) > 0
