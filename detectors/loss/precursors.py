"""Precursors: how the gradient norm and the learning rate change the evidence that a loss leaves its trend.

A jump of the gradient norm, or of the learning rate to where it has never been, multiplies the evidence from
the loss by a factor above 1; a planned warm restart of the learning rate by one below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, median_filter

from holter.detectors.incremental import Checkpoint, IncrementalState, ScanCheckpoints
from holter.detectors.loss.excursions.segment import AttemptSegment
from holter.detectors.loss.gradient_rises import GradientRiseThresholds, mean_rises, rises_after_restart
from holter.detectors.positions import rows_of_attempt, values_before
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.roles import Role, role_of
from holter.types import FloatArray, IntArray, RunData, Series

_BLOCK_ROWS = 1024
"""Rows of a learning rate whose highest value is stored, so that a pass reads only new rows."""


@dataclass(frozen=True, kw_only=True)
class GradientThresholds(Thresholds):
    """When the gradient norm jumps."""

    median_points: int = 49
    """Points of the running median of its logarithm."""
    spread_points: int = 129
    """Points that its spread is measured on."""
    least_spread: float = 0.02
    """Spread of the logarithm, at least."""
    settled_points: int = 300
    """Points of an attempt after which a gradient norm is past its initial phase."""
    lasting_points: int = 10
    """Points for which a jump counts as evidence about the loss."""
    look_back_points: int = 256
    """Points before the evaluated ones that the result rests on."""
    jump_errors: tuple[float, float] = (6.0, 10.0)
    """Standard errors at which a jump begins to count, and at which it counts fully."""
    sum_points: tuple[int, ...] = (2, 3, 5, 8)
    """Points whose scores are added up."""
    rises: GradientRiseThresholds = GradientRiseThresholds()
    """How the rises of its means are measured, which are evidence of their own."""


@dataclass(frozen=True, kw_only=True)
class LearningRateThresholds(Thresholds):
    """When the learning rate jumps, climbs or restarts."""

    jump_ratio: float = 1.5
    """Ratio by which a learning rate jumps."""
    jump_points: int = 20
    """Points before, relative to which it jumps."""
    steady_ratio: float = 1.1
    """Ratio by which it may have risen before: a warm-up, which comes from below, is no jump."""
    new_high_ratio: float = 1.2
    """Ratio to the highest rate before, above which the rate is a new high."""
    lasting_points: int = 100
    """Points for which a jump to a new high counts."""
    restart_points: int = 1000
    """Points for which a planned warm restart counts: as many as the longest means that it affects."""
    warm_restart_factor: float = 0.4
    """Factor on the evidence after a planned warm restart."""
    climb_points: int = 4096
    """Points within which a climb is followed back to its beginning."""
    climb_ratios: tuple[float, float] = (1.2, 1.5)
    """Ratio to the highest rate before at which a climb begins to count, and at which it counts fully."""
    stride_points: int = 8
    """Points over which a rise of the rate is measured."""
    steady_rise: float = 5e-4
    """Share by which a rate rises over `stride_points` when it climbs; a rate that always did warms up."""
    warmed_up_points: int = 64
    """Points of an attempt that belong to its warm-up."""


@dataclass(frozen=True, kw_only=True)
class PrecursorThresholds(Thresholds):
    """How other metrics change the evidence from the loss."""

    raised_evidence: float = 0.4
    """A clear jump multiplies the evidence by 1 plus this."""
    gradient: GradientThresholds = GradientThresholds()
    """When the gradient norm jumps."""
    learning_rate: LearningRateThresholds = LearningRateThresholds()
    """When the learning rate jumps, climbs or restarts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Precursors:
    """The gradient norm and the learning rate of a run, where they are logged.

    `highest` [n / 1024] are the highest learning rates in the rows up to the end of each block of 1,024.
    """

    norm: Series | None
    rate: Series | None
    highest: FloatArray
    thresholds: PrecursorThresholds

    @property
    def series(self) -> list[Series]:
        """The series that are logged."""
        return [series for series in (self.norm, self.rate) if series is not None]

    @property
    def least(self) -> float:
        """The smallest factor that there can be."""
        return 1.0 if self.rate is None else min(self.thresholds.learning_rate.warm_restart_factor, 1.0)

    @property
    def most(self) -> float:
        """The largest factor that there can be."""
        return (1 + self.thresholds.raised_evidence) ** len(self.series)

    def factor(self, segment: AttemptSegment, first: int, stop: int) -> FloatArray:
        """The factor on evidence from the loss at the points of a segment from `first` to `stop` (exclusive),
        from what was logged up to the step of each."""
        factor = self.planned_factor(segment, first, stop)
        steps = segment.step[first:stop]
        if self.norm is not None and len(steps):
            factor *= _values_at_steps(
                self.norm, segment.attempt, steps, self._gradient_factor, np.ones(len(steps))
            )
        return factor

    def planned_factor(self, segment: AttemptSegment, first: int, stop: int) -> FloatArray:
        """The same without what the gradient norm contributes."""
        steps = segment.step[first:stop]
        if self.rate is None or not len(steps):
            return np.ones(len(steps))
        return _values_at_steps(self.rate, segment.attempt, steps, self._rate_factor, np.ones(len(steps)))

    def gradient_errors(
        self, segment: AttemptSegment, first: int, stop: int, sizes: tuple[int, ...]
    ) -> FloatArray:
        """How many standard errors the gradient norm's latest means of so many rows as each of `sizes` says
        are above those before, at the points of a segment from `first` to `stop` (exclusive) [sizes, n]; 0
        where that is unknown."""
        steps = segment.step[first:stop]
        unknown = np.zeros((len(sizes), len(steps)))
        if self.norm is None or not len(steps):
            return unknown
        rises = partial(self._gradient_rises, sizes)
        return _values_at_steps(self.norm, segment.attempt, steps, rises, unknown)

    def restart_errors(self, segment: AttemptSegment, stop: int) -> FloatArray:
        """How many standard errors the mean of the gradient norm since a segment began is above that before,
        at the segment's points up to `stop` (exclusive) [stop]; 0 where that is unknown."""
        steps, unknown = segment.step[:stop], np.zeros(stop)
        if self.norm is None or not stop:
            return unknown
        limits, rises = self.thresholds.gradient, self.thresholds.gradient.rises
        before = _logs(values_before(self.norm, segment.attempt - 1, int(steps[0]), rises.usual_rows))
        return _values_at_steps(
            self.norm,
            segment.attempt,
            steps,
            lambda series, attempt_row, first, stop: rises_after_restart(
                before, _logs(series.value[attempt_row:stop]), limits.least_spread, rises
            )[first - attempt_row :],
            unknown,
        )

    def _gradient_factor(self, series: Series, attempt_row: int, first: int, stop: int) -> FloatArray:
        """The factor by jumps of the gradient norm, at rows from `first` to `stop` (exclusive)."""
        limits = self.thresholds.gradient
        if stop <= attempt_row + limits.settled_points:
            return np.ones(stop - first)
        begin, full = limits.jump_errors
        back = max(attempt_row, first - limits.look_back_points)
        _, above, spread = self._gradient_logs(series, back, stop)
        score = np.clip(above / spread, -full, full)
        score[: max(attempt_row + limits.settled_points - back, 0)] = 0.0
        jump = np.zeros(len(score))
        for points in (points for points in limits.sum_points if points <= len(score)):
            # summed anew for each point: the sum must not depend on where the array begins
            total = sliding_window_view(score, points).sum(axis=1)
            jump[points - 1 :] = np.maximum(jump[points - 1 :], total / points**0.5)
        size = limits.lasting_points
        recent = maximum_filter1d(jump, size, origin=(size - 1) // 2, mode="nearest")
        share = np.clip((recent[first - back :] - begin) / (full - begin), 0.0, 1.0)
        return 1 + self.thresholds.raised_evidence * share

    def _gradient_rises(
        self, sizes: tuple[int, ...], series: Series, attempt_row: int, first: int, stop: int
    ) -> FloatArray:
        """The rises of the gradient norm's means in standard errors, at rows from `first` to `stop`
        (exclusive) [sizes of means, n]."""
        limits = self.thresholds.gradient
        back = max(attempt_row, first - limits.look_back_points - limits.rises.look_back_rows(sizes))
        logs = self._gradient_logs(series, back, stop)
        errors = mean_rises(*logs, back - attempt_row, sizes, limits.rises)
        return errors[:, first - back :]

    def _gradient_logs(
        self, series: Series, back: int, stop: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The running median of the gradient norm's logarithm, how far each row is above it, and the noise of
        the rows before, at rows from `back` to `stop` (exclusive)."""
        limits = self.thresholds.gradient
        logs = _logs(series.value[back:stop])
        level = _trailing_median(logs, limits.median_points)
        above = logs - level
        spread = MAD_TO_SIGMA * _trailing_median(np.abs(above), limits.spread_points)
        return level, above, np.maximum(spread, limits.least_spread)

    def _rate_factor(self, series: Series, attempt_row: int, first: int, stop: int) -> FloatArray:
        """The factor by jumps, warm restarts and climbs of the learning rate, at rows from `first` to
        `stop`."""
        limits = self.thresholds.learning_rate
        lag = limits.jump_points
        climb = self._climb_factor(series, attempt_row, first, stop)
        if stop <= attempt_row + 3 * lag:
            return climb
        back = max(attempt_row, first - limits.restart_points)
        # the first row stands for what was before it
        rate = series.value[np.maximum(np.arange(back - 3 * lag, stop), attempt_row)]
        rate = np.where(np.isfinite(rate), rate, 0.0)
        long_before, before, now = rate[: stop - back], rate[2 * lag : -lag], rate[3 * lag :]
        highest_before = self._highest_before(series, max(back - lag, attempt_row))
        highest = np.maximum.accumulate(np.maximum(before, highest_before))
        jumped = now > limits.jump_ratio * np.maximum(before, 1e-300)
        jumped &= (before > 0) & (before < limits.steady_ratio * long_before)
        jumped[: max(attempt_row + 3 * lag - back, 0)] = False
        is_new_high = now > limits.new_high_ratio * highest
        new_high = _extend_marks(jumped & is_new_high, limits.lasting_points)
        restarted = _extend_marks(jumped & ~is_new_high, limits.restart_points) & ~new_high
        factor = np.where(
            new_high,
            1 + self.thresholds.raised_evidence,
            np.where(restarted, limits.warm_restart_factor, 1.0),
        )[first - back :]
        return np.where(climb > 1, np.maximum(factor, climb), factor)

    def _climb_factor(self, series: Series, attempt_row: int, first: int, stop: int) -> FloatArray:
        """The factor by a learning rate that climbs, little by little, to where it has never been after its
        warm-up, at rows from `first` to `stop` (exclusive)."""
        limits = self.thresholds.learning_rate
        if stop <= attempt_row + limits.warmed_up_points:
            return np.ones(stop - first)
        back = max(attempt_row, first - limits.climb_points - limits.lasting_points)
        rate = np.where(np.isfinite(series.value[back:stop]), series.value[back:stop], 0.0)
        before = self._highest_before(series, back)
        if back > attempt_row and rate.max(initial=0.0) <= limits.climb_ratios[0] * before:
            return np.ones(stop - first)
        stride = limits.stride_points
        steady = np.zeros(len(rate), dtype=bool)
        steady[stride:] = rate[stride:] <= (1 + limits.steady_rise) * rate[:-stride]
        steady[: max(attempt_row + limits.warmed_up_points - back, 0)] = False
        row = np.arange(len(rate))
        last_steady = np.maximum.accumulate(np.where(steady, row, -1))
        known = (last_steady >= 0) & (row - last_steady <= limits.climb_points - stride)
        highest = np.maximum(np.maximum.accumulate(rate), before)[np.maximum(last_steady, 0)]
        low, high = np.log(limits.climb_ratios)
        with np.errstate(divide="ignore", invalid="ignore"):
            climbed = np.clip((np.log(rate / highest) - low) / (high - low), 0.0, 1.0)
        climbed = np.where(known & (highest > 0), climbed, 0.0)
        size = limits.lasting_points
        lasting = maximum_filter1d(climbed, size, origin=(size - 1) // 2, mode="nearest")
        return 1 + self.thresholds.raised_evidence * np.asarray(lasting[first - back :])

    def _highest_before(self, series: Series, row: int) -> float:
        """The highest learning rate in the rows before one; at least zero."""
        blocks = row // _BLOCK_ROWS
        return max(
            float(self.highest[blocks - 1]) if blocks else 0.0,
            _highest_finite(series.value[blocks * _BLOCK_ROWS : row]),
        )


def _logs(norm: FloatArray) -> FloatArray:
    """The logarithms of gradient norms [n]; those that are not finite count as large."""
    with np.errstate(invalid="ignore"):
        logs: FloatArray = np.log(np.clip(np.where(np.isfinite(norm), norm, 1e6), 1e-12, 1e12))
    return logs


def _highest_finite(rate: FloatArray) -> float:
    return float(np.max(rate, initial=0.0, where=np.isfinite(rate)))


_OfRows = Callable[[Series, int, int, int], FloatArray]
"""Values [..., n] at some rows of a series: (series, first row of the attempt, first, stop)."""


def _values_at_steps(
    series: Series, attempt: int, steps: IntArray, of_rows: _OfRows, unknown: FloatArray
) -> FloatArray:
    """Values at steps [n] of an attempt, by the last row of a series up to each; those of `unknown` [..., n]
    before the first."""
    span = rows_of_attempt(series, attempt)
    row = span.first + np.searchsorted(series.step[span.rows], steps, side="right") - 1
    values = unknown.copy()
    known = row >= span.first
    if known.any():
        first, stop = int(row[known][0]), int(row[known][-1]) + 1
        values[..., known] = of_rows(series, span.first, first, stop)[..., row[known] - first]
    return values


def find_precursors(run: RunData, state: IncrementalState, thresholds: PrecursorThresholds) -> Precursors:
    """The gradient norm and the learning rate of a run; the first series of each, by name."""
    norm, rate = (
        next((run.series[key] for key in sorted(run.series) if role_of(key) is role), None)
        for role in (Role.GRAD_NORM, Role.LEARNING_RATE)
    )
    highest = np.empty(0) if rate is None else _highest_by_block(rate, state)
    return Precursors(norm=norm, rate=rate, highest=highest, thresholds=thresholds)


def _highest_by_block(series: Series, state: IncrementalState) -> FloatArray:
    checkpoints: ScanCheckpoints[FloatArray] = state.checkpoints(
        ("highest_learning_rate", series.key), [series]
    )
    checkpoint = checkpoints.latest([series])
    highest = checkpoint.state if checkpoint else np.empty(0)
    complete = len(series) // _BLOCK_ROWS
    if complete > len(highest):
        new = [
            _highest_finite(series.value[block * _BLOCK_ROWS : (block + 1) * _BLOCK_ROWS])
            for block in range(len(highest), complete)
        ]
        highest = np.maximum.accumulate(np.concatenate((highest, new)))
        checkpoints.save(Checkpoint(highest, (complete * _BLOCK_ROWS,)))
    return highest


def _trailing_median(values: FloatArray, size: int) -> FloatArray:
    """For each value the median of the `size` values before it."""
    median = median_filter(values, size=size, origin=size // 2, mode="nearest")
    return np.concatenate((values[:1], median[:-1]))


def _extend_marks(marks: NDArray[np.bool_], points: int) -> NDArray[np.bool_]:
    """True at each mark and for a number of points after it, the mark included."""
    total = np.concatenate(([0], np.cumsum(marks)))
    ends = np.arange(1, len(total))
    extended: NDArray[np.bool_] = (total[ends] - total[np.maximum(ends - points, 0)]) > 0
    return extended
