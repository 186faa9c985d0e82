"""Whether, and when, a series returns to where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holter.detectors.loss.excursions.excursion_points import ExcursionPoints
from holter.detectors.loss.excursions.lasting import fell_past, lasting_at
from holter.detectors.loss.excursions.new_rises import find_larger_rise, find_next_rise, find_settled
from holter.detectors.loss.excursions.rise_speed import moving_mean, smoothing_points
from holter.types import FloatArray, IntArray


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
    while there are none). `fell_past`: it had settled higher, and fell on from there until it was back.
    `half_peak` is where the rise first reached half of its
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
    fell_past: bool = False


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
    size = smoothing_points(points.step, points.thresholds)
    # of the means that are new, the first one begins here
    first_mean = known.last_seen + 2 - size
    first = min(search.index, first_mean)
    excess, allowed = points.excess(first)
    back, _, _, search = _search_return(points, first, excess, allowed, search)
    if back is not None:
        return None
    new_excess = excess[known.last_seen + 1 - first :]
    smooth = moving_mean(excess[first_mean - first :], size)
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
        else lasting_at(points, known.last_seen + 1),
    )


def _half_peak_from(points: ExcursionPoints, index: int, size: int, smoothed_peak: float) -> int:
    """The first point from `index` on at which the smoothed excess reaches half of the peak."""
    chunk = points.thresholds.chunk_points[1]
    while True:
        head = points.head(index + chunk + size - 1)
        smooth = moving_mean(head.excess(index)[0], size)
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
    smooth = moving_mean(excess[:over], smoothing_points(step[:over], limits))
    stop = len(excess) if confirmed is None else confirmed
    elapsed = step - step[0]
    settled = find_settled(elapsed, excess, points.detected, noise, limits, stop=stop)
    # a drift rises in leaps, so that a new rise counts only once it could have settled
    rise_from = points.detected
    if points.width >= limits.drift_points:
        rise_from = max(rise_from, int(np.searchsorted(elapsed, limits.settled_steps)))
    # a mean of many points shows how high the rise is, a spike's first points do not
    height_from = points.detected + (limits.near_points if points.width < limits.near_points else 0)
    level_start, next_scan = min(
        (back, next_scan) if back is not None else (len(excess), len(excess)),
        # the level right before a rise, where enough points show it, rather than that of an event long ago
        find_next_rise(excess, rise_from, noise, limits, stop=stop),
        find_larger_rise(excess, height_from, noise, limits, stop=stop),
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
        lasting_at=lasting_at(points.head(stop), 0),
        fell_past=back is not None and fell_past(points.head(back)),
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
    # a blip counts as little in these means as in the level from before
    clipped = np.minimum(inside, limits.clip_sigmas * points.noise.error(near))
    total = np.concatenate(([0.0], np.cumsum(clipped)))
    near_mean = (total[starts + near - base] - total[starts - base]) / near
    far_mean = (total[until - base] - total[starts - base]) / (until - starts)
    highest_before = np.maximum.accumulate(np.append(highest, inside))[: len(starts)]
    height_share = np.minimum(
        limits.tolerance_height * highest_before, limits.tolerance_height_sigmas * sigma
    )
    of_near, of_far = _error_of_mean(points, np.array([near])), _error_of_mean(points, until - starts)
    # of a height counts no more than the mean could be off by chance
    near_share = np.minimum(height_share, limits.tolerance_height_errors * of_near)
    far_share = np.minimum(height_share, limits.tolerance_height_errors * of_far)
    on_trend = step[starts] - points.step[0] < limits.trend_steps
    near_allowed = np.where(on_trend, np.maximum(allowed[starts], near_share), allowed[starts])
    far_allowed = np.where(on_trend, np.maximum(allowed[starts], far_share), allowed[starts])
    begin = len(points.step) - len(excess)
    is_lone = (begin + starts <= limits.lone_points) & (points.width < near)
    errors = np.where(is_lone, limits.lone_errors, np.where(on_trend, 0.0, limits.level_errors))
    by_chance = errors * of_near
    is_back = near_mean <= near_allowed + np.maximum(by_chance, limits.near_sigmas * sigma / np.sqrt(near))
    is_back &= excess[starts] <= near_allowed + limits.first_point_sigmas * sigma
    # single points as high as the noise puts them interrupt nothing: a heavy upper tail has them all the time
    interrupting = max(limits.interrupting_sigmas, points.noise.reach.typical) * sigma
    high = np.append(base + np.flatnonzero(inside > interrupting), len(excess))
    rise = high[np.searchsorted(high, starts + near)]
    rise_excess = excess[np.minimum(rise, len(excess) - 1)]
    interrupted = (rise < until) & (rise_excess >= limits.interrupting_share * highest_before)
    calm = (rise >= until) & is_complete
    # the level from before has an error, too, but the same for all means
    noise_of_far = of_far / np.sqrt(1 + (until - starts) / limits.reference_points)
    # of the many means of a loss that still decays the first low one is low by chance
    certainly = np.maximum(
        allowed[starts] - limits.certain_errors * noise_of_far, limits.certain_share * allowed[starts]
    )
    certainly = np.maximum(certainly, far_share)
    calm &= far_mean <= np.where(on_trend & ~is_lone, certainly, far_allowed + errors * of_far)
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
