"""Whether, and when, a series is back where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import median_filter

from holter.detectors.loss.baseline import CENTRE, Fall, Noise
from holter.types import FloatArray, IntArray

_NEAR, _FAR = 8, 60
"""The next so many points, and the next so many steps, must be back on average."""
_ON_TREND = 200
"""Steps for which the trend from before is believed to have gone on."""
_AGAIN = 6.0
"""Sigmas above the baseline that end a return before it is certain."""
_SMOOTH = 25
"""Steps over which a rise is averaged to tell how fast it was."""
SETTLED_STEPS, _LEVEL = 500, 64
"""Steps after which what is not back is not expected back; points that show its new level, twice."""
_ANEW = 8.0
"""Sigmas above the level of a series that is not back yet, from which on it rises anew."""
_SLOW_RISE_STEPS, _SLOW_RISE_POINTS = 60, 3
"""A spike is at half of its height sooner; what takes longer is a drift."""
DRIFT = 64
"""A spike is seen by its first points; what takes as many as this to be seen is a drift."""


@dataclass(frozen=True, kw_only=True)
class Return:
    """How an excursion went on; indices count from its first point.

    `back` is the first point of the return, `confirmed` the point at which that was certain (both None
    while it lasts), `last` the last point seen. `half` is where the rise first reached half of its peak
    so far. Other excursions may begin at `resume`, against the level of the points from `level_from` on;
    `settled` if it has gone on at one level by then.
    """

    peak: int
    half: int
    back: int | None
    confirmed: int | None
    level_from: int
    resume: int
    last: int
    settled: bool = False


def unfollowed(points: int) -> Return:
    """Of an excursion that is noted, but whose end is not looked for, with so many points seen."""
    return Return(
        peak=0, half=0, back=None, confirmed=None, level_from=points, resume=points, last=points - 1
    )


def tolerance(baseline: float, noise: Noise) -> float:
    """How far above the baseline still counts as back: what the eye cannot tell from it."""
    return max(0.35 * noise.sigma, 0.02 * abs(baseline))


def follow(
    step: IntArray,
    value: FloatArray,
    *,
    seen: int,
    width: int,
    baseline: float,
    fall: Fall,
    noise: Noise,
    known: Return | None = None,
) -> Return:
    """Follow an excursion from its first point through the points [n] of its attempt; see `_follow`.

    It was seen at point `seen`, by `width` points: as many must be back. `known` is how it had gone on, and
    was not over, at an earlier point: what that settled is not worked out again.
    """
    size = 4096
    while known is not None and size <= known.last + 1:
        size *= 4
    while True:
        # most are over soon: the rest of a long attempt is looked at only for those that last
        found = _follow(step[:size], value[:size], seen, width, baseline, fall, noise, known)
        if size >= len(step) or found.confirmed is not None:
            return found
        size *= 4


def _follow(
    step: IntArray,
    value: FloatArray,
    seen: int,
    width: int,
    baseline: float,
    fall: Fall,
    noise: Noise,
    known: Return | None,
) -> Return:
    """How an excursion went on, as far as these points [n] tell.

    Back is who is back on the trend, which falls from `baseline` as `fall` says; or, later on, on the
    level from before: how far a trend would have fallen in the meantime nobody knows.

    A rise while the return is not certain yet is the same excursion going on, unless it reaches half of
    the height again: then it is another one, and its beginning makes the return before it certain.
    """
    elapsed = step - step[0]
    on_trend = (elapsed < _ON_TREND) | (np.arange(len(step)) < _NEAR)
    excess = value - baseline - np.where(on_trend, fall.after(elapsed), 0.0)
    # on the trend is who cannot be told from it by eye; on the old level, who is no higher
    allowed = np.where(on_trend, tolerance(baseline, noise), 0.05 * noise.sigma)
    decided = 0 if known is None else known.last + 1
    back, confirmed, resume = _search(step, excess, seen, max(width, _NEAR), allowed, noise, decided)
    over = len(excess) if back is None else max(back, 1)
    peak = int(np.argmax(excess[:over]))
    last = len(excess) - 1 if confirmed is None else confirmed
    half = half_of(step, excess[:over])
    if known is not None and known.resume < decided:
        return replace(known, peak=peak, half=half, back=back, confirmed=confirmed, last=last)
    upto = len(excess) if confirmed is None else confirmed
    anew = seen if width < DRIFT else max(seen, int(np.searchsorted(elapsed, SETTLED_STEPS)))
    settled = _settled(elapsed, excess, seen, noise, upto=upto)
    level_from, resume = min(
        (back, resume) if back is not None else (len(excess), len(excess)),
        # what drifts away does so in leaps and bounds
        _next_rise(excess, anew, noise, upto=upto),
        settled,
        key=lambda found: found[1],
    )
    return Return(
        peak=peak,
        half=half,
        back=back,
        confirmed=confirmed,
        level_from=level_from,
        resume=resume,
        last=last,
        settled=resume == settled[1],
    )


def rose_slowly(step: IntArray, *, half: int) -> bool:
    """Whether a rise that was half of its height at a point took as long for that as a drift does."""
    return half >= _SLOW_RISE_POINTS and int(step[half] - step[0]) >= _SLOW_RISE_STEPS


def half_of(step: IntArray, excess: FloatArray) -> int:
    """Where the rise first reached half of its peak, both as means over some steps."""
    spacing = max(float(np.median(np.diff(step[:64]))), 1.0) if len(step) > 1 else 1.0
    size = int(np.clip(round(_SMOOTH / spacing), 1, len(excess)))
    total = np.concatenate(([0.0], np.cumsum(excess)))
    smooth = (total[size:] - total[:-size]) / size
    return int(np.argmax(smooth >= 0.5 * smooth.max()))


def _search(
    step: IntArray,
    excess: FloatArray,
    seen: int,
    fewest: int,
    allowed: FloatArray,
    noise: Noise,
    decided: int,
) -> tuple[int | None, int | None, int]:
    """The point of the return, the point that confirms it, and where to look for the next excursion. There
    was no return for certain in the points before `decided`."""
    at, size = seen, 256
    while at + size + fewest <= decided and np.searchsorted(step, step[at + size - 1] + _FAR) <= decided:
        at, size = at + size, size * 2
    while at + _NEAR <= len(excess):
        found = _first_return(
            step, excess, np.arange(at, min(at + size, len(excess))), fewest, allowed, noise
        )
        if found is not None:
            return found
        at, size = at + size, size * 2
    return None, None, len(excess)


def _first_return(
    step: IntArray, excess: FloatArray, starts: IntArray, fewest: int, allowed: FloatArray, noise: Noise
) -> tuple[int, int, int] | None:
    """The first of some points from where on the series is back: on average over the next few points, and
    over the next steps, unless another rise comes in between that is high enough to be another event."""
    starts = starts[starts + _NEAR <= len(excess)]
    far = np.maximum(np.searchsorted(step, step[starts] + _FAR), starts + fewest)
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
    highest = np.maximum.accumulate(excess)[np.maximum(starts - 1, 0)]
    again = (rise < until) & (excess[np.minimum(rise, len(excess) - 1)] >= 0.5 * highest)
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
