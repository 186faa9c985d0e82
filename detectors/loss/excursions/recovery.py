"""Whether, and when, a series returns to where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.loss.excursions.baseline import DampedFall, LossNoise
from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.detectors.thresholds import Thresholds
from holter.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class RecoveryThresholds(Thresholds):
    """When an excursion of a loss counts as over, as settled higher, or as a drift."""

    near_points: int = 8
    """Points that must be back on average for a return to begin."""
    near_sigmas: float = 0.5
    """Sigmas of a point, over the root of `near_points`, by which their mean may exceed the tolerance."""
    first_point_sigmas: float = 3.0
    """Sigmas by which the first point of a return may exceed the tolerance."""
    far_steps: int = 60
    """Steps that must be back on average for a return to be confirmed."""
    trend_steps: int = 200
    """Steps for which the trend from before is assumed to have continued."""
    tolerance_sigmas: float = 0.35
    """Sigmas above the trend that still count as back: the eye cannot tell the two apart."""
    tolerance_share: float = 0.02
    """Share of the baseline above the trend that still counts as back."""
    level_sigmas: float = 0.05
    """Sigmas above the level from before that still count as back, once the trend is no longer assumed."""
    interrupting_sigmas: float = 6.0
    """Sigmas above the baseline at which a rise interrupts a return that is not confirmed yet."""
    interrupting_share: float = 0.5
    """Share of the height of the excursion from which on such a rise is another event."""
    smoothing_steps: int = 25
    """Steps over which a rise is averaged to measure how fast it was."""
    spacing_points: int = 64
    """Points whose median spacing converts steps to points."""
    half_height: float = 0.5
    """Share of the peak at which a rise is timed."""
    settled_steps: int = 500
    """Steps after which a loss that is not back is no longer expected back."""
    level_points: int = 64
    """Points that show the new level; two windows of them in sequence must agree."""
    new_rise_sigmas: float = 8.0
    """Sigmas above the level of a loss that is not back yet, from which on it rises anew."""
    new_rise_share: float = 0.5
    """Share of the height of the excursion from which on it rises anew."""
    slow_rise_steps: int = 60
    """Steps. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    slow_rise_points: int = 3
    """Points. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    drift_points: int = 64
    """Points. A spike is detected by its first points; what takes this many to detect is a drift."""
    chunk_points: tuple[int, int] = (256, 4096)
    """Points that are searched together for a return, at first and at most."""


@dataclass(frozen=True, kw_only=True)
class RecoverySearch:
    """How far a return was searched for without success: before point `index`, in chunks of `size`.

    `highest` is the highest excess before that point.
    """

    index: int
    size: int
    highest: float


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """How an excursion developed; indices count from its first point.

    `back` is the first point of the return, `confirmed` the point at which the return was certain (both None
    while it lasts), `last_seen` the last point seen. `half_peak` is where the rise first reached half of its
    peak so far. Other excursions may begin at `next_scan`, relative to the level of the points from
    `level_start` on; `settled`: the series stayed at one level by then. `search` and `smoothed_peak`, the
    highest smoothed excess, are the state for following it further.
    """

    peak: int
    half_peak: int
    back: int | None
    confirmed: int | None
    level_start: int
    next_scan: int
    last_seen: int
    settled: bool = False
    search: RecoverySearch | None = None
    smoothed_peak: float = 0.0


def untracked_recovery(points: int) -> Recovery:
    """The recovery of an excursion whose end is not searched for, with this many points seen."""
    return Recovery(
        peak=0,
        half_peak=0,
        back=None,
        confirmed=None,
        level_start=points,
        next_scan=points,
        last_seen=points - 1,
    )


@dataclass(frozen=True, kw_only=True)
class ExcursionPoints:
    """The points [n] of an attempt from the first point of an excursion on.

    It was detected at point `detected` by `width` points: at least as many must be back. `baseline` was the
    level before, and `fall` the trend from there.
    """

    step: IntArray
    value: FloatArray
    detected: int
    width: int
    baseline: float
    fall: DampedFall
    noise: LossNoise
    thresholds: RecoveryThresholds

    @property
    def fewest_back(self) -> int:
        """The fewest points that must be back."""
        return max(self.width, self.thresholds.near_points)

    def head(self, points: int) -> ExcursionPoints:
        """Only the first points."""
        return replace(self, step=self.step[:points], value=self.value[:points])

    def excess(self, first: int = 0) -> tuple[FloatArray, FloatArray]:
        """How far the points from `first` on are above the reference, and how much still counts as back.

        The reference is the trend and, later on, the level from before: how far a trend would have fallen in
        the meantime is unknown.
        """
        limits = self.thresholds
        elapsed = self.step[first:] - self.step[0]
        on_trend = (elapsed < limits.trend_steps) | (np.arange(first, len(self.step)) < limits.near_points)
        fallen = np.where(on_trend, self.fall.after(elapsed), 0.0) if on_trend.any() else 0.0
        tolerance = max(
            limits.tolerance_sigmas * self.noise.sigma, limits.tolerance_share * abs(self.baseline)
        )
        allowed = np.where(on_trend, tolerance, limits.level_sigmas * self.noise.sigma)
        return self.value[first:] - self.baseline - fallen, allowed


def track_recovery(points: ExcursionPoints, known: Recovery | None = None) -> Recovery:
    """How an excursion developed by the last of its points; see `_recovery`.

    `known` is its recovery at an earlier point, where it was not over: what that settled is not computed
    again.
    """
    if (
        known is not None
        and known.search is not None
        and known.last_seen > points.thresholds.spacing_points
        and known.next_scan <= known.last_seen
    ):
        lasting = _continue_recovery(points, known, known.search)
        if lasting is not None:
            return lasting
    size = points.thresholds.chunk_points[1]
    while True:
        # most excursions are over soon: only for those that last is the rest of a long attempt read
        recovery = _recovery(points.head(size))
        if size >= len(points.step) or recovery.confirmed is not None:
            return recovery
        size *= 4


def _continue_recovery(points: ExcursionPoints, known: Recovery, search: RecoverySearch) -> Recovery | None:
    """The recovery by the points that have come since `known`, after which other excursions may begin
    already.

    None if the series is back.
    """
    size = _smoothing_points(points.step, points.thresholds)
    first = min(search.index, known.last_seen + 2 - size)
    excess, allowed = points.excess(first)
    back, _, _, search = _search_return(points, first, excess, allowed, search)
    if back is not None:
        return None
    new_excess = excess[known.last_seen + 1 - first :]
    smooth = _moving_mean(excess[known.last_seen + 2 - size - first :], size)
    smoothed_peak = float(smooth.max(initial=known.smoothed_peak))
    peak = known.peak
    if len(new_excess) and new_excess.max() > points.head(peak + 1).excess(peak)[0][0]:
        peak = known.last_seen + 1 + int(np.argmax(new_excess))
    half_peak = known.half_peak
    if smoothed_peak != known.smoothed_peak:
        half_peak = _half_peak_from(points, half_peak, size, smoothed_peak)
    return replace(
        known,
        peak=peak,
        half_peak=half_peak,
        last_seen=len(points.step) - 1,
        search=search,
        smoothed_peak=smoothed_peak,
    )


def _half_peak_from(points: ExcursionPoints, index: int, size: int, smoothed_peak: float) -> int:
    """The first point from `index` on at which the smoothed excess reaches half of the peak."""
    chunk = points.thresholds.chunk_points[1]
    while True:
        head = points.head(index + chunk + size - 1)
        smooth = _moving_mean(head.excess(index)[0], size)
        high = np.flatnonzero(smooth >= points.thresholds.half_height * smoothed_peak)
        if len(high):
            return index + int(high[0])
        index += chunk


def _recovery(points: ExcursionPoints) -> Recovery:
    """How an excursion developed, as far as these points [n] show.

    A series is back when it is on the trend or, later on, at the level from before. A rise while the return
    is not certain yet continues the same excursion, unless it reaches half of the height again: then it is
    another excursion, and its beginning confirms the return before it.
    """
    limits, step, noise = points.thresholds, points.step, points.noise
    excess, allowed = points.excess()
    highest = float(excess[: max(points.detected, 1)].max())
    begin = RecoverySearch(index=points.detected, size=limits.chunk_points[0], highest=highest)
    back, confirmed, next_scan, search = _search_return(points, 0, excess, allowed, begin)
    over = len(excess) if back is None else max(back, 1)
    smooth = _moving_mean(excess[:over], _smoothing_points(step[:over], limits))
    stop = len(excess) if confirmed is None else confirmed
    elapsed = step - step[0]
    settled = _settled(elapsed, excess, points.detected, noise, limits, stop=stop)
    # a drift rises in leaps, so that a new rise counts only once it could have settled
    rise_from = points.detected
    if points.width >= limits.drift_points:
        rise_from = max(rise_from, int(np.searchsorted(elapsed, limits.settled_steps)))
    level_start, next_scan = min(
        (back, next_scan) if back is not None else (len(excess), len(excess)),
        _next_rise(excess, rise_from, noise, limits, stop=stop),
        settled,
        key=lambda candidate: candidate[1],
    )
    return Recovery(
        peak=int(np.argmax(excess[:over])),
        half_peak=int(np.argmax(smooth >= limits.half_height * smooth.max())),
        back=back,
        confirmed=confirmed,
        level_start=level_start,
        next_scan=next_scan,
        last_seen=len(excess) - 1 if confirmed is None else confirmed,
        settled=next_scan == settled[1],
        search=search,
        smoothed_peak=float(smooth.max()),
    )


def is_slow_rise(step: IntArray, thresholds: RecoveryThresholds, *, half_peak: int) -> bool:
    """Whether a rise that reached half of its height at point `half_peak` took as long as a drift does."""
    elapsed = int(step[half_peak] - step[0])
    return half_peak >= thresholds.slow_rise_points and elapsed >= thresholds.slow_rise_steps


def half_peak_index(step: IntArray, excess: FloatArray, thresholds: RecoveryThresholds) -> int:
    """The point at which the rise first reached half of its peak, both as means over some steps."""
    smooth = _moving_mean(excess, _smoothing_points(step, thresholds))
    return int(np.argmax(smooth >= thresholds.half_height * smooth.max()))


def _smoothing_points(step: IntArray, thresholds: RecoveryThresholds) -> int:
    """The number of points in `smoothing_steps`."""
    spacing = 1.0
    if len(step) > 1:
        spacing = max(float(np.median(np.diff(step[: thresholds.spacing_points]))), 1.0)
    return int(np.clip(round(thresholds.smoothing_steps / spacing), 1, len(step)))


def _moving_mean(excess: FloatArray, size: int) -> FloatArray:
    """The mean of `size` points from each point on [n - size + 1]."""
    count = max(len(excess) - size + 1, 0)
    total = np.zeros(count)
    # point by point: a mean never depends on where the array begins
    for offset in range(size):
        total += excess[offset : offset + count]
    mean: FloatArray = total / size
    return mean


def _search_return(
    points: ExcursionPoints, first: int, excess: FloatArray, allowed: FloatArray, search: RecoverySearch
) -> tuple[int | None, int | None, int, RecoverySearch]:
    """The point of the return, the point that confirms it, the point from which the next excursion may begin,
    and the state before which there is certainly no return.

    `excess` and `allowed` are those from point `first` on.
    """
    limits, step, stop, decided = points.thresholds, points.step[first:], first + len(excess), True
    current = search
    while current.index + limits.near_points <= stop:
        starts = np.arange(current.index - first, min(current.index + current.size, stop) - first)
        match = _first_return(step, excess, starts, allowed, points, current.highest)
        if match is not None:
            back, confirmed, next_scan = (first + index for index in match)
            return back, confirmed, next_scan, search
        upto = current.index + current.size
        decided = decided and upto + points.fewest_back <= stop
        decided = decided and int(np.searchsorted(step, step[upto - 1 - first] + limits.far_steps)) <= len(
            step
        )
        highest = float(excess[current.index - first : upto - first].max(initial=current.highest))
        size = min(2 * current.size, limits.chunk_points[1])
        current = RecoverySearch(index=upto, size=size, highest=highest)
        search = current if decided else search
    return None, None, stop, search


def _first_return(
    step: IntArray,
    excess: FloatArray,
    starts: IntArray,
    allowed: FloatArray,
    points: ExcursionPoints,
    highest: float,
) -> tuple[int, int, int] | None:
    """The first of the points `starts` from which on the series is back, with the point that confirms it and
    the point from which the next excursion may begin.

    It is back if it is so on average over the next points and over the next steps, unless another rise comes
    in between that is high enough to be another event. `highest` is the highest excess before `starts`.
    """
    limits, sigma, near = points.thresholds, points.noise.sigma, points.thresholds.near_points
    starts = starts[starts + near <= len(excess)]
    far = np.maximum(np.searchsorted(step, step[starts] + limits.far_steps), starts + points.fewest_back)
    # a window that reaches beyond the last point is undecided, and so are all after it
    until = np.minimum(far, len(excess))
    base = int(starts[0])
    inside = excess[base : int(until[-1])]
    total = np.concatenate(([0.0], np.cumsum(inside)))
    near_mean = (total[starts + near - base] - total[starts - base]) / near
    far_mean = (total[until - base] - total[starts - base]) / (until - starts)
    is_back = near_mean <= allowed[starts] + limits.near_sigmas * sigma / np.sqrt(near)
    is_back &= excess[starts] <= allowed[starts] + limits.first_point_sigmas * sigma
    high = np.append(base + np.flatnonzero(inside > limits.interrupting_sigmas * sigma), len(excess))
    rise = high[np.searchsorted(high, starts + near)]
    highest_before = np.maximum.accumulate(np.append(highest, inside))[: len(starts)]
    rise_excess = excess[np.minimum(rise, len(excess) - 1)]
    interrupted = (rise < until) & (rise_excess >= limits.interrupting_share * highest_before)
    calm = (rise >= until) & (far <= len(excess)) & (far_mean <= allowed[starts])
    hits = np.flatnonzero(is_back & (interrupted | calm))
    if not len(hits):
        return None
    first = hits[0]
    if interrupted[first]:
        return int(starts[first]), int(rise[first]), int(rise[first])
    return int(starts[first]), int(far[first]) - 1, int(far[first])


def _settled(
    elapsed: IntArray,
    excess: FloatArray,
    detected: int,
    noise: LossNoise,
    thresholds: RecoveryThresholds,
    *,
    stop: int,
) -> tuple[int, int]:
    """Where a series that is not back stayed at one level for long enough to be monitored there.

    The result is the first point of that level and the point from which it is known; the number of points
    twice where there is none.
    """
    size = thresholds.level_points
    first = max(int(np.searchsorted(elapsed, thresholds.settled_steps)), detected + 2 * size)
    none = (len(excess), len(excess))
    if first >= stop:
        return none
    total = np.concatenate(([0.0], np.cumsum(excess[:stop])))
    ends = np.arange(first, stop + 1)
    later = (total[ends] - total[ends - size]) / size
    earlier = (total[ends - size] - total[ends - 2 * size]) / size
    flat = np.flatnonzero(later - earlier <= noise.sigma / np.sqrt(size))
    if not len(flat):
        return none
    end = int(ends[flat[0]])
    return end - 2 * size, end


def _next_rise(
    excess: FloatArray, first: int, noise: LossNoise, thresholds: RecoveryThresholds, *, stop: int
) -> tuple[int, int]:
    """Where a series that is not back yet rises anew, by half of what it rose before.

    The result is the point from which its level is known, and the point of the rise; the number of points
    twice where there is none. The first excursion does not end by such a rise.
    """
    window = noise.thresholds.median_points
    none = (len(excess), len(excess))
    inside = excess[:stop]
    if len(inside) <= first + 2 * window:
        return none
    median = median_filter(inside, size=window, origin=window // 2, mode="nearest")[:-1]
    above = inside[1:] - median
    highest = np.maximum.accumulate(inside)[:-1]
    deviation = median_filter(np.abs(above), size=4 * window + 1, origin=2 * window, mode="nearest")
    spread = MAD_TO_SIGMA * deviation
    sigma = np.maximum(np.concatenate((spread[:1], spread[:-1])), noise.sigma)
    rises = (above > thresholds.new_rise_share * highest) & (above > thresholds.new_rise_sigmas * sigma)
    rises[: first + 2 * window] = False
    hits = np.flatnonzero(rises)
    if not len(hits):
        return none
    rise = int(hits[0]) + 1
    return rise - 2 * window, rise
