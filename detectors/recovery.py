"""Whether, and when, a series is back where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.baseline import Noise
from holter.types import FloatArray, IntArray

_NEAR, _FAR = 8, 60
"""The next so many points, and the next so many steps, must be back on average."""
_ON_TREND = 200
"""Steps for which the trend from before is believed to have gone on."""
_AGAIN = 6.0
"""Sigmas above the baseline that end a return before it is certain."""


@dataclass(frozen=True, kw_only=True)
class Return:
    """How an excursion went on; indices count from its first point.

    `back` is the first point of the return, `confirmed` the point at which that was certain (both None
    while it lasts), `resume` where other excursions may begin, `last` the last point seen. `half` is
    where the rise first reached half of its peak so far.
    """

    peak: int
    half: int
    back: int | None
    confirmed: int | None
    resume: int
    last: int


def tolerance(baseline: float, noise: Noise) -> float:
    """How far above the baseline still counts as back: what the eye cannot tell from it."""
    return max(0.35 * noise.sigma, 0.02 * abs(baseline))


def follow(
    step: IntArray, value: FloatArray, *, seen: int, baseline: float, fall: float, noise: Noise
) -> Return:
    """Follow an excursion from its first point through the points [n] of its attempt.

    Back is who is back on the trend, which falls from `baseline` by `fall` a step; or, later on, on the
    level from before: how far a trend would have fallen in the meantime nobody knows.

    A rise while the return is not certain yet is the same excursion going on, unless it reaches half of
    the height again: then it is another one, and its beginning makes the return before it certain.
    """
    elapsed = step - step[0]
    excess = value - baseline - np.where(elapsed < _ON_TREND, fall * elapsed, 0.0)
    allowed = tolerance(baseline, noise)
    at, size = seen, 256
    while at < len(value):
        found = _first_return(step, excess, slice(at, at + size), allowed, noise)
        if found is None:
            at, size = at + size, size * 2
            continue
        back, confirmed = found
        again = np.flatnonzero(excess[back + 1 : confirmed + 1] > _AGAIN * noise.sigma)
        if not len(again):
            return _ended(excess, back, confirmed, confirmed + 1)
        next_rise = back + 1 + int(again[0])
        if excess[next_rise] >= 0.5 * excess[:back].max(initial=0.0):
            return _ended(excess, back, next_rise, next_rise)
        at, size = next_rise, 256
    return _ended(excess, None, None, len(value))


def _ended(excess: FloatArray, back: int | None, confirmed: int | None, resume: int) -> Return:
    peak = int(np.argmax(excess[: len(excess) if back is None else max(back, 1)]))
    half = int(np.argmax(excess[: peak + 1] >= 0.5 * excess[peak]))
    last = len(excess) - 1 if confirmed is None else confirmed
    return Return(peak=peak, half=half, back=back, confirmed=confirmed, resume=resume, last=last)


def _first_return(
    step: IntArray, excess: FloatArray, piece: slice, allowed: float, noise: Noise
) -> tuple[int, int] | None:
    """The first point in a piece from where on the series is back, and where that is certain."""
    starts = np.arange(piece.start, min(piece.stop, len(excess)))
    far = np.maximum(np.searchsorted(step, step[starts] + _FAR), starts + _NEAR)
    inside = far <= len(excess)
    if not inside.any():
        return None
    starts, far = starts[inside], far[inside]
    base = starts[0]
    # one outlier alone does not make it stay away
    total = np.concatenate(([0.0], np.cumsum(np.minimum(excess[base : far[-1]], _AGAIN * noise.sigma))))
    near = (total[starts + _NEAR - base] - total[starts - base]) / _NEAR
    count = far - starts
    mean = (total[far - base] - total[starts - base]) / count
    is_back = (near <= allowed + 0.5 * noise.sigma / np.sqrt(_NEAR)) & (mean <= allowed)
    # the return begins with a point that is itself not far out
    is_back &= excess[starts] <= allowed + 3 * noise.sigma
    hits = np.flatnonzero(is_back)
    if not len(hits):
        return None
    return int(starts[hits[0]]), int(far[hits[0]] - 1)
