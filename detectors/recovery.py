"""Whether, and when, a series is back where it was before an excursion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holter.detectors.baseline import Noise
from holter.types import FloatArray, IntArray

_NEAR, _FAR = 8, 60
"""The next so many points, and the next so many steps, must be back on average."""


@dataclass(frozen=True, kw_only=True)
class Return:
    """How an excursion went on; indices count from its first point.

    `back` is the first point of the return, `confirmed` the point at which that was certain, `resume`
    where new excursions are looked for again, `last` the last point seen. `half` is where the rise first
    reached half of its peak so far.
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


def follow(step: IntArray, value: FloatArray, *, seen: int, baseline: float, noise: Noise) -> Return:
    """Follow an excursion from its first point through the points [n] of its attempt."""
    excess = value - baseline
    allowed = tolerance(baseline, noise)
    at = seen
    size = 256
    while True:
        piece = slice(at, at + size)
        found = _first_return(step, excess, piece, allowed, noise)
        if found is not None or at + size >= len(value):
            break
        at, size = at + size, size * 2
    end = len(value) if found is None else found[1] + 1
    peak = int(np.argmax(excess[:end] if found is None else excess[: found[0] + 1]))
    half = int(np.argmax(excess[: peak + 1] >= 0.5 * excess[peak]))
    if found is None:
        return Return(peak=peak, half=half, back=None, confirmed=None, resume=end, last=end - 1)
    return Return(peak=peak, half=half, back=found[0], confirmed=found[1], resume=end, last=end - 1)


def _first_return(
    step: IntArray, excess: FloatArray, piece: slice, allowed: float, noise: Noise
) -> tuple[int, int] | None:
    """The first point in a piece from where on the series is back, and where that is certain."""
    starts = np.arange(piece.start, min(piece.stop, len(excess)))
    if not len(starts):
        return None
    far = np.maximum(np.searchsorted(step, step[starts] + _FAR), starts + _NEAR)
    inside = far <= len(excess)
    if not inside.any():
        return None
    starts, far = starts[inside], far[inside]
    total = np.concatenate(([0.0], np.cumsum(np.minimum(excess[starts[0] : far[-1]], 8 * noise.sigma))))
    base = starts[0]
    near_mean = (total[starts + _NEAR - base] - total[starts - base]) / _NEAR
    count = far - starts
    far_mean = (total[far - base] - total[starts - base]) / count
    is_back = (near_mean <= allowed + noise.sigma / np.sqrt(_NEAR)) & (
        far_mean <= allowed + noise.sigma / np.sqrt(count)
    )
    hits = np.flatnonzero(is_back)
    if not len(hits):
        return None
    return int(starts[hits[0]]), int(far[hits[0]] - 1)
