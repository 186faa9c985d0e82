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
    level_errors: float = 1.5
    """Standard errors by which means may exceed the level from before, without a trend."""
    lone_errors: float = 2.0
    """Standard errors by which means may exceed the tolerance after `lone_points` that stood out: less cannot
    be told from noise, and nothing has shown a decay."""
    lone_points: int = 2
    """Points of an excursion, at most, after which nothing has shown that it lasts."""
    reference_points: int = 64
    """Points whose mean is the level from before, which has a standard error, too."""
    first_point_sigmas: float = 3.0
    """Sigmas by which the first point of a return may exceed the tolerance."""
    far_steps: int = 60
    """Steps that must be back on average for a return to be confirmed."""
    trend_steps: int = 200
    """Steps for which the trend from before is assumed to have continued."""
    tolerance_sigmas: float = 0.35
    """Sigmas above the trend that still count as back: the eye cannot tell the two apart."""
    tolerance_height: float = 0.03
    """Share of the height of an excursion that still counts as back: it is not visible beside the rest."""
    tolerance_height_sigmas: float = 1.5
    """Sigmas above the trend that such a share counts at most."""
    level_sigmas: float = 0.05
    """Sigmas above the level from before that still count as back, once the trend is no longer assumed."""
    interrupting_sigmas: float = 6.0
    """Sigmas above the baseline at which a rise interrupts a return that is not confirmed yet, or as far as
    the noise reaches, if that is further."""
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
    settled_points: int = 32
    """Points that a loss must have been high for as well: sparse logs show less in as many steps."""
    certain_strength: float = 2.0
    """Strength of the evidence from which on a rise is a warning at once; with less, once most of more than
    `near_points` are high."""
    lone_strength: float = 4.0
    """Strength of the evidence from which on a single point is a warning at once; with less, once most of the
    points after it are high: how far the tail of the noise reaches is known from few points."""
    compared_points: int = 128
    """First points of a rise of less evidence, of a slow one the latest, too; their median is compared with
    that of the `settled_points` before it. A rise that was over within so many is a warning all the same."""
    young_share: float = 0.5
    """Share of all points known before, for which a loss that is high counts as not back in a young run, and
    one that is back as back."""
    lull_points: int = 64
    """Latest points among which the beginning of a return is searched for that is not certain yet."""
    flat_share: float = 0.8
    """Share of its excess in the third quarter of an excursion that the fourth must have: less is a decay,
    which will come back by itself."""
    flat_share_of_half: float = 0.75
    """The same for the second quarter: a slow decay hardly shows from one quarter to the next."""
    flat_share_of_eighth: float = 0.5
    """Share of its excess in the first half of the last quarter that the second half must have."""
    lasting_progress: float = 0.25
    """Share of the fall of the level since the run began that a lasting step must undo to be critical: less
    is as often another stage of the data, which not all runs log."""
    lasting_progress_of_drift: float = 0.1
    """The same for a rise that takes long to reach its height: a stage begins at once."""
    unlearned_points: int = 64
    """Points before an excursion up to which a run whose level has not fallen since it began is too young to
    tell what lasts: its first rise is as often a warm-up, and falls slowly."""
    unlearned_wait: float = 4.0
    """Times the points before it that an excursion must have lasted for in such a run to be critical."""
    at_once_share: float = 0.8
    """Share of the lasting height that the first point has of a step, as of a stage."""
    overshoot: float = 1.5
    """Times its lasting height that a spike peaks at: it did damage, however little progress is lost."""
    lasting_growth: float = 1.25
    """Times the height of the quarter before that the last quarter has, from which on an excursion grows."""
    visible_progress: float = 0.03
    """Share of the fall of the level since the run began that growth must have undone to be critical: less is
    not visible in a picture of the run."""
    growth_parts: int = 4
    """Parts of the last half of an excursion whose medians show how it grew."""
    growth_in_one_part: float = 0.6
    """Share of the growth that one of these parts may bring: more is a step, as of another stage."""
    flat_growth: float = 1.25
    """Ratio of the numbers of points after which it is examined again whether an excursion decays."""
    level_points: int = 64
    """Points that show the new level; two windows of them in sequence must agree."""
    new_rise_sigmas: float = 8.0
    """Sigmas above the level of a loss that is not back yet, from which on it rises anew."""
    new_rise_share: float = 0.5
    """Share of the height of the excursion from which on it rises anew."""
    larger_rise: float = 1.0
    """Heights of the excursion by which a point must exceed all before, to begin a larger one within it."""
    slow_rise_steps: int = 60
    """Steps. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    slow_rise_points: int = 3
    """Points. A spike reaches half of its height sooner; a rise that takes longer is a drift."""
    drift_points: int = 64
    """Points. A spike is detected by its first points; what takes this many to detect is a drift."""
    chunk_points: tuple[int, int] = (256, 4096)
    """Points that are searched together for a return, at first and at most."""

    def after(self, known: int) -> RecoveryThresholds:
        """The same for an excursion before which so many points were known."""
        return replace(self, far_steps=min(self.far_steps, max(int(self.young_share * known), 1)))


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
    while it lasts), `last_seen` the last point seen. `lull` is the first of the latest points that are back
    so far, `lasting_at` the first point examined at which the excursion had lasted without decaying (None
    while there are none). `half_peak` is where the rise first reached half of its
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
    lull: int | None = None
    lasting_at: int | None = None


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

    It was detected at point `detected` by `width` points: at least as many must be back. `step` is in
    optimizer steps. `baseline` was the level before, and `fall` the trend from there; `progress` is how far
    the level had fallen since the run began, and `known` the number of points before (None if not in the
    same attempt).
    """

    step: IntArray
    value: FloatArray
    detected: int
    width: int
    baseline: float
    fall: DampedFall
    noise: LossNoise
    thresholds: RecoveryThresholds
    progress: float = 0.0
    known: int | None = None

    @property
    def has_learned(self) -> bool:
        """Whether the level had fallen since the run began."""
        return self.progress > self.noise.sigma

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
        allowed = np.where(on_trend, limits.tolerance_sigmas, limits.level_sigmas) * self.noise.sigma
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
    # of the means that are new, the first one begins here
    first_mean = known.last_seen + 2 - size
    first = min(search.index, first_mean)
    excess, allowed = points.excess(first)
    back, _, _, search = _search_return(points, first, excess, allowed, search)
    if back is not None:
        return None
    new_excess = excess[known.last_seen + 1 - first :]
    smooth = _moving_mean(excess[first_mean - first :], size)
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
        lull=_lull(points),
        lasting_at=known.lasting_at
        if known.lasting_at is not None
        else _lasting_at(points, known.last_seen + 1),
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
        _larger_rise(excess, points.detected, noise, limits, stop=stop),
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
        lull=None if confirmed is not None else _lull(points),
        lasting_at=_lasting_at(points.head(stop), 0),
    )


def _lull(points: ExcursionPoints) -> int | None:
    """The first of the latest points that are back so far, without being so for long enough."""
    limits, sigma, count = points.thresholds, points.noise.sigma, len(points.step)
    first = max(count - limits.lull_points, points.detected + 1)
    excess, allowed = points.excess(first)
    allowed = np.maximum(allowed, limits.tolerance_sigmas * sigma)
    high = np.flatnonzero(excess > allowed + limits.first_point_sigmas * sigma)
    begin = int(high[-1]) + 1 if len(high) else 0
    if begin >= len(excess):
        return None
    most = allowed[begin] + limits.near_sigmas * sigma / np.sqrt(min(len(excess) - begin, limits.near_points))
    return first + begin if float(excess[begin:].mean()) <= most else None


def _lasting_at(points: ExcursionPoints, first: int) -> int | None:
    """The first point from `first` on, of those that are examined, at which the excursion has lasted for long
    and does not decay: its last quarter is about as high as the one before, or higher."""
    limits = points.thresholds
    settled = int(np.searchsorted(points.step, points.step[0] + limits.settled_steps))
    at = max(settled, limits.settled_points, points.detected)
    if not points.has_learned and points.known is not None and points.known < limits.unlearned_points:
        at = max(at, round(limits.unlearned_wait * points.known))
    while at < len(points.step):
        if at >= first and _lasts(points.head(at + 1), limits):
            return at
        at = int(at * limits.flat_growth) + 1
    return None


def _lasts(points: ExcursionPoints, limits: RecoveryThresholds) -> bool:
    """Whether an excursion that has lasted for long is no mere step to another level, as of a stage."""
    excess = points.excess()[0]
    half = (len(excess) - 1) // 2
    quarter = (len(excess) - half) // 2
    second = float(excess[half - quarter : half].mean())
    third, fourth = float(excess[half : half + quarter].mean()), float(excess[half + quarter :].mean())
    # another rise within the last quarter makes only a part of it high, or decays within it
    earlier, later = (float(part.mean()) for part in np.array_split(excess[half + quarter :], 2))
    lowest = min(earlier, later)
    if lowest <= 0 or lowest < max(limits.flat_share * third, limits.flat_share_of_half * second):
        return False
    if later < limits.flat_share_of_eighth * earlier:
        return False
    first = excess[: limits.near_points]
    rises_slowly = is_slow_rise(points.step, limits, half_peak=half_peak_index(points.step, excess, limits))
    share = limits.lasting_progress_of_drift if rises_slowly else limits.lasting_progress
    undoes_progress = lowest > share * points.progress
    if not points.has_learned:
        # nothing is known that it could undo: damage builds up over some points, a stage begins at once
        undoes_progress = bool(excess[0] < limits.at_once_share * np.median(excess[half:]))
    return (
        undoes_progress
        or float(first.max()) >= limits.overshoot * float(excess[half:].max())
        or (
            fourth >= limits.lasting_growth * third
            and fourth >= limits.visible_progress * points.progress
            and _grows_steadily(excess[half:], limits)
        )
    )


def _grows_steadily(excess: FloatArray, limits: RecoveryThresholds) -> bool:
    """Whether an excess [n] grew by no single step, as another stage would make it."""
    levels = np.array([np.median(part) for part in np.array_split(excess, limits.growth_parts)])
    return bool(np.diff(levels).max() < limits.growth_in_one_part * (levels[-1] - levels[0]))


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
        starts = np.arange(current.index, min(current.index + current.size, stop)) - first
        match = _first_return(step, excess, starts, allowed, points, current.highest)
        if match is not None:
            back, confirmed, next_scan = (first + index for index in match)
            return back, confirmed, next_scan, search
        upto = current.index + current.size
        decided = decided and upto + points.fewest_back <= stop
        last = min(upto, stop) - 1 - first
        decided = decided and int(np.searchsorted(step, step[last] + limits.far_steps)) < len(step)
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

    It is back if it is so on average over the next points and over the next steps, all of which must have
    been logged, unless another rise comes in between that is high enough to be another event. `highest` is
    the highest excess before `starts`.
    """
    limits, sigma, near = points.thresholds, points.noise.sigma, points.thresholds.near_points
    starts = starts[starts + near <= len(excess)]
    far = np.maximum(np.searchsorted(step, step[starts] + limits.far_steps), starts + points.fewest_back)
    # a window is complete once the point after it is known; until then it is undecided, and so are all after
    # it
    is_complete = far < len(excess)
    until = np.minimum(far, len(excess))
    base = int(starts[0])
    inside = excess[base : int(until[-1])]
    total = np.concatenate(([0.0], np.cumsum(inside)))
    near_mean = (total[starts + near - base] - total[starts - base]) / near
    far_mean = (total[until - base] - total[starts - base]) / (until - starts)
    highest_before = np.maximum.accumulate(np.append(highest, inside))[: len(starts)]
    height_share = np.minimum(
        limits.tolerance_height * highest_before, limits.tolerance_height_sigmas * sigma
    )
    on_trend = step[starts] - points.step[0] < limits.trend_steps
    allowed_there = np.where(on_trend, np.maximum(allowed[starts], height_share), allowed[starts])
    begin = len(points.step) - len(excess)
    is_lone = (begin + starts <= limits.lone_points) & (points.width < near)
    errors = np.where(is_lone, limits.lone_errors, np.where(on_trend, 0.0, limits.level_errors))
    by_chance = errors * _error_of_mean(points, np.array([near]))
    is_back = near_mean <= allowed_there + np.maximum(by_chance, limits.near_sigmas * sigma / np.sqrt(near))
    is_back &= excess[starts] <= allowed_there + limits.first_point_sigmas * sigma
    # single points as high as the noise puts them interrupt nothing: a heavy upper tail has them all the time
    interrupting = max(limits.interrupting_sigmas, points.noise.reach.typical) * sigma
    high = np.append(base + np.flatnonzero(inside > interrupting), len(excess))
    rise = high[np.searchsorted(high, starts + near)]
    rise_excess = excess[np.minimum(rise, len(excess) - 1)]
    interrupted = (rise < until) & (rise_excess >= limits.interrupting_share * highest_before)
    calm = (rise >= until) & is_complete
    calm &= far_mean <= allowed_there + errors * _error_of_mean(points, until - starts)
    hits = np.flatnonzero(is_back & (interrupted | calm))
    if not len(hits):
        return None
    first = hits[0]
    if interrupted[first]:
        return int(starts[first]), int(rise[first]), int(rise[first])
    return int(starts[first]), int(far[first]), int(far[first])


def _error_of_mean(points: ExcursionPoints, sizes: IntArray) -> FloatArray:
    """The standard error of means of these numbers of points [n] less the level from before."""
    different, which = np.unique(sizes, return_inverse=True)
    of_one = np.array([points.noise.error(int(size)) for size in different])[which]
    error: FloatArray = of_one * np.sqrt(1 / sizes + 1 / points.thresholds.reference_points)
    return error


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
    total = np.concatenate(([0.0], np.cumsum(excess[:stop])))
    ends = np.arange(first, stop)
    later = (total[ends] - total[ends - size]) / size
    earlier = (total[ends - size] - total[ends - 2 * size]) / size
    flat = np.flatnonzero(later - earlier <= noise.sigma / np.sqrt(size))
    if not len(flat):
        return none
    end = int(ends[flat[0]])
    return end - 2 * size, end


def _larger_rise(
    excess: FloatArray, detected: int, noise: LossNoise, thresholds: RecoveryThresholds, *, stop: int
) -> tuple[int, int]:
    """Where a series that is not back yet jumps, from one point to the next, to twice all before or more.

    The result is that point twice, since the level from before remains the reference; the number of points
    twice where there is none.
    """
    first = detected + thresholds.near_points
    highest = np.maximum.accumulate(excess[: stop - 1])[first:]
    above = excess[first + 1 : stop] - highest
    jumps = above > np.maximum(thresholds.larger_rise * highest, thresholds.new_rise_sigmas * noise.sigma)
    hits = np.flatnonzero(jumps)
    rise = first + 1 + int(hits[0]) if len(hits) else len(excess)
    return rise, rise


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
