"""Whether, and when, a series is back where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.loss.excursions.baseline import CENTRE, Fall, Noise
from holter.types import FloatArray, IntArray

_NEAR, _FAR = 8, 60
"""The next so many points, and the next so many steps, must be back on average."""
_ON_TREND = 200
"""Steps for which the trend from before is believed to have gone on."""
_AGAIN = 6.0
"""Sigmas above the baseline that end a return before it is certain."""
_SMOOTH, _SMOOTHED = 25, 64
"""Steps over which a rise is averaged to tell how fast it was, and points that say how far they are apart."""
SETTLED_STEPS, _LEVEL = 500, 64
"""Steps after which what is not back is not expected back; points that show its new level, twice."""
_ANEW = 8.0
"""Sigmas above the level of a series that is not back yet, from which on it rises anew."""
_SLOW_RISE_STEPS, _SLOW_RISE_POINTS = 60, 3
"""A spike is at half of its height sooner; what takes longer is a drift."""
DRIFT = 64
"""A spike is seen by its first points; what takes as many as this to be seen is a drift."""
_PIECES = (256, 4096)
"""Points that are looked at together for a return: at first, and at most."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How far a return has been looked for in vain: before point `at`, in pieces of `size`. `highest` is the
    highest excess before it."""

    at: int
    size: int
    highest: float


@dataclass(frozen=True, kw_only=True)
class Return:
    """How an excursion went on; indices count from its first point.

    `back` is the first point of the return, `confirmed` the point at which that was certain (both None
    while it lasts), `last` the last point seen. `half` is where the rise first reached half of its peak
    so far. Other excursions may begin at `resume`, against the level of the points from `level_from` on;
    `settled` if it has gone on at one level by then. `search` and `level`, the highest smoothed excess, are
    what it takes to follow it further.
    """

    peak: int
    half: int
    back: int | None
    confirmed: int | None
    level_from: int
    resume: int
    last: int
    settled: bool = False
    search: Search | None = None
    level: float = 0.0


def unfollowed(points: int) -> Return:
    """Of an excursion that is noted, but whose end is not looked for, with so many points seen."""
    return Return(
        peak=0, half=0, back=None, confirmed=None, level_from=points, resume=points, last=points - 1
    )


def tolerance(baseline: float, noise: Noise) -> float:
    """How far above the baseline still counts as back: what the eye cannot tell from it."""
    return max(0.35 * noise.sigma, 0.02 * abs(baseline))


@dataclass(frozen=True, kw_only=True)
class Course:
    """An excursion from its first point through the points [n] of its attempt.

    It was seen at point `seen`, by `width` points: as many must be back. `baseline` was the level before,
    from which a trend falls as `fall` says.
    """

    step: IntArray
    value: FloatArray
    seen: int
    width: int
    baseline: float
    fall: Fall
    noise: Noise

    @property
    def fewest(self) -> int:
        """So many points must be back."""
        return max(self.width, _NEAR)

    def first(self, points: int) -> Course:
        """As far as the first so many points tell."""
        return replace(self, step=self.step[:points], value=self.value[:points])

    def excess(self, first: int = 0) -> tuple[FloatArray, FloatArray]:
        """How far the points from one on are above the trend or, later on, above the level from before (how
        far a trend would have fallen in the meantime nobody knows), and how much of it still counts as back.
        """
        elapsed = self.step[first:] - self.step[0]
        on_trend = (elapsed < _ON_TREND) | (np.arange(first, len(self.step)) < _NEAR)
        fallen = np.where(on_trend, self.fall.after(elapsed), 0.0) if on_trend.any() else 0.0
        # on the trend is who cannot be told from it by eye; on the old level, who is no higher
        allowed = np.where(on_trend, tolerance(self.baseline, self.noise), 0.05 * self.noise.sigma)
        return self.value[first:] - self.baseline - fallen, allowed


def follow(course: Course, known: Return | None = None) -> Return:
    """How an excursion went on; see `_follow`. `known` is how it had gone on, and was not over, at an earlier
    point: what that settled is not worked out again."""
    if (
        known is not None
        and known.search is not None
        and known.last > _SMOOTHED
        and known.resume <= known.last
    ):
        lasting = _lasts(course, known, known.search)
        if lasting is not None:
            return lasting
    size = 4096
    while True:
        # most are over soon: the rest of a long attempt is looked at only for those that last
        found = _follow(course.first(size))
        if size >= len(course.step) or found.confirmed is not None:
            return found
        size *= 4


def _lasts(course: Course, known: Return, search: Search) -> Return | None:
    """How one that others may begin after goes on, by the points that have come since; None if it is back."""
    size = _smoothed_by(course.step)
    first = min(search.at, known.last + 2 - size)
    excess, allowed = course.excess(first)
    back, _, _, search = _search(course, first, excess, allowed, search)
    if back is not None:
        return None
    news = excess[known.last + 1 - first :]
    level = float(_smooth(excess[known.last + 2 - size - first :], size).max(initial=known.level))
    peak = known.peak
    if len(news) and news.max() > course.first(peak + 1).excess(peak)[0][0]:
        peak = known.last + 1 + int(np.argmax(news))
    return replace(
        known,
        peak=peak,
        half=known.half if level == known.level else _half_from(course, known.half, size, level),
        last=len(course.step) - 1,
        search=search,
        level=level,
    )


def _half_from(course: Course, half: int, size: int, level: float) -> int:
    """Where, from a point on, the smoothed excess first reaches half of a level."""
    while True:
        part = course.first(half + _PIECES[1] + size - 1)
        high = np.flatnonzero(_smooth(part.excess(half)[0], size) >= 0.5 * level)
        if len(high):
            return half + int(high[0])
        half += _PIECES[1]


def _follow(course: Course) -> Return:
    """How an excursion went on, as far as these points [n] tell.

    Back is who is back on the trend or, later on, on the level from before. A rise while the return is not
    certain yet is the same excursion going on, unless it reaches half of the height again: then it is another
    one, and its beginning makes the return before it certain.
    """
    step, seen, noise = course.step, course.seen, course.noise
    excess, allowed = course.excess()
    begin = Search(at=seen, size=_PIECES[0], highest=float(excess[: max(seen, 1)].max()))
    back, confirmed, resume, search = _search(course, 0, excess, allowed, begin)
    over = len(excess) if back is None else max(back, 1)
    size = _smoothed_by(step[:over])
    smooth = _smooth(excess[:over], size)
    upto = len(excess) if confirmed is None else confirmed
    elapsed = step - step[0]
    anew = seen if course.width < DRIFT else max(seen, int(np.searchsorted(elapsed, SETTLED_STEPS)))
    settled = _settled(elapsed, excess, seen, noise, upto=upto)
    level_from, resume = min(
        (back, resume) if back is not None else (len(excess), len(excess)),
        # what drifts away does so in leaps and bounds
        _next_rise(excess, anew, noise, upto=upto),
        settled,
        key=lambda found: found[1],
    )
    return Return(
        peak=int(np.argmax(excess[:over])),
        half=int(np.argmax(smooth >= 0.5 * smooth.max())),
        back=back,
        confirmed=confirmed,
        level_from=level_from,
        resume=resume,
        last=len(excess) - 1 if confirmed is None else confirmed,
        settled=resume == settled[1],
        search=search,
        level=float(smooth.max()),
    )


def rose_slowly(step: IntArray, *, half: int) -> bool:
    """Whether a rise that was half of its height at a point took as long for that as a drift does."""
    return half >= _SLOW_RISE_POINTS and int(step[half] - step[0]) >= _SLOW_RISE_STEPS


def half_of(step: IntArray, excess: FloatArray) -> int:
    """Where the rise first reached half of its peak, both as means over some steps."""
    smooth = _smooth(excess, _smoothed_by(step))
    return int(np.argmax(smooth >= 0.5 * smooth.max()))


def _smoothed_by(step: IntArray) -> int:
    """The number of points in a mean over some steps."""
    spacing = max(float(np.median(np.diff(step[:_SMOOTHED]))), 1.0) if len(step) > 1 else 1.0
    return int(np.clip(round(_SMOOTH / spacing), 1, len(step)))


def _smooth(excess: FloatArray, size: int) -> FloatArray:
    """Means of so many points from each on [n - size + 1]."""
    many = max(len(excess) - size + 1, 0)
    total = np.zeros(many)
    # point by point: a mean never depends on where the points begin
    for place in range(size):
        total += excess[place : place + many]
    smooth: FloatArray = total / size
    return smooth


def _search(
    course: Course, first: int, excess: FloatArray, allowed: FloatArray, search: Search
) -> tuple[int | None, int | None, int, Search]:
    """The point of the return, the point that confirms it, and where to look for the next excursion; and up
    to where there is none for certain. `excess` and `allowed` are those from point `first` on."""
    step, after, decided = course.step[first:], first + len(excess), True
    now = search
    while now.at + _NEAR <= after:
        starts = np.arange(now.at - first, min(now.at + now.size, after) - first)
        found = _first_return(step, excess, starts, allowed, course, now.highest)
        if found is not None:
            back, confirmed, resume = (first + point for point in found)
            return back, confirmed, resume, search
        upto = now.at + now.size
        decided = decided and upto + course.fewest <= after
        decided = decided and int(np.searchsorted(step, step[upto - 1 - first] + _FAR)) <= len(step)
        highest = float(excess[now.at - first : upto - first].max(initial=now.highest))
        now = Search(at=upto, size=min(2 * now.size, _PIECES[1]), highest=highest)
        search = now if decided else search
    return None, None, after, search


def _first_return(
    step: IntArray,
    excess: FloatArray,
    starts: IntArray,
    allowed: FloatArray,
    course: Course,
    highest: float,
) -> tuple[int, int, int] | None:
    """The first of some points from where on the series is back: on average over the next few points, and
    over the next steps, unless another rise comes in between that is high enough to be another event.
    `highest` is the highest excess before them."""
    noise = course.noise
    starts = starts[starts + _NEAR <= len(excess)]
    far = np.maximum(np.searchsorted(step, step[starts] + _FAR), starts + course.fewest)
    # a window that reaches beyond what was seen is undecided, and so are all after it
    until = np.minimum(far, len(excess))
    base = int(starts[0])
    inside = excess[base : int(until[-1])]
    total = np.concatenate(([0.0], np.cumsum(inside)))
    near = (total[starts + _NEAR - base] - total[starts - base]) / _NEAR
    mean = (total[until - base] - total[starts - base]) / (until - starts)
    is_back = near <= allowed[starts] + 0.5 * noise.sigma / np.sqrt(_NEAR)
    # the return begins with a point that is itself not far out
    is_back &= excess[starts] <= allowed[starts] + 3 * noise.sigma
    high = np.append(base + np.flatnonzero(inside > _AGAIN * noise.sigma), len(excess))
    rise = high[np.searchsorted(high, starts + _NEAR)]
    before = np.maximum.accumulate(np.append(highest, inside))[: len(starts)]
    again = (rise < until) & (excess[np.minimum(rise, len(excess) - 1)] >= 0.5 * before)
    calm = (rise >= until) & (far <= len(excess)) & (mean <= allowed[starts])
    hits = np.flatnonzero(is_back & (again | calm))
    if not len(hits):
        return None
    first = hits[0]
    if again[first]:
        return int(starts[first]), int(rise[first]), int(rise[first])
    return int(starts[first]), int(far[first]) - 1, int(far[first])


def _settled(elapsed: IntArray, excess: FloatArray, seen: int, noise: Noise, *, upto: int) -> tuple[int, int]:
    """Where a series that does not come back has gone on at one level for long enough to be watched there."""
    first = max(int(np.searchsorted(elapsed, SETTLED_STEPS)), seen + 2 * _LEVEL)
    nowhere = (len(excess), len(excess))
    if first >= upto:
        return nowhere
    total = np.concatenate(([0.0], np.cumsum(excess[:upto])))
    ends = np.arange(first, upto + 1)
    later = (total[ends] - total[ends - _LEVEL]) / _LEVEL
    earlier = (total[ends - _LEVEL] - total[ends - 2 * _LEVEL]) / _LEVEL
    flat = np.flatnonzero(later - earlier <= noise.sigma / np.sqrt(_LEVEL))
    if not len(flat):
        return nowhere
    end = int(ends[flat[0]])
    return end - 2 * _LEVEL, end


def _next_rise(excess: FloatArray, seen: int, noise: Noise, *, upto: int) -> tuple[int, int]:
    """Where a series that is not back yet rises anew by half of what it rose before: the point from which
    on its level is known, and the point of the rise. The first does not end by that."""
    inside = excess[:upto]
    if len(inside) <= seen + 2 * CENTRE:
        return len(excess), len(excess)
    centre = median_filter(inside, size=CENTRE, origin=CENTRE // 2, mode="nearest")[:-1]
    above = inside[1:] - centre
    highest = np.maximum.accumulate(inside)[:-1]
    spread = 1.4826 * median_filter(np.abs(above), size=4 * CENTRE + 1, origin=2 * CENTRE, mode="nearest")
    usual = np.maximum(np.concatenate((spread[:1], spread[:-1])), noise.sigma)
    rises = (above > 0.5 * highest) & (above > _ANEW * usual)
    rises[: seen + 2 * CENTRE] = False
    hits = np.flatnonzero(rises)
    if not len(hits):
        return len(excess), len(excess)
    first = int(hits[0]) + 1
    return first - 2 * CENTRE, first
