"""Which points stay when a series is thinned: extremes, ends, everything odd, and what is near incidents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holter.server.store.encoding.block import SeriesPoints
from holter.types import IntArray

NEAR = 500
"""Points on either side of an incident that stay."""
LONG = 5000
"""Points of an incident from which on only what is near its steps stays whole, not all of it."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Event:
    """The steps that an incident names, ascending: where it began, peaked, was detected, ended."""

    attempt: int
    steps: tuple[int, ...]


def near(step: IntArray, events: Sequence[Event]) -> Mask:
    """Which of a series' points [n], its steps ascending, belong to the surroundings of events."""
    found = np.zeros(len(step), dtype=bool)
    for event in events:
        first, last = int(np.searchsorted(step, event.steps[0])), _after(step, event.steps[-1])
        marks = [(first, last)]
        if last - first > LONG:
            marks = [(int(np.searchsorted(step, one)), _after(step, one)) for one in event.steps]
        for begin, end in marks:
            found[max(0, begin - NEAR) : end + NEAR] = True
    return found


def _after(step: IntArray, wanted: int) -> int:
    return int(np.searchsorted(step, wanted, side="right"))


def sieve(points: SeriesPoints, bucket: int, whole: Mask) -> Mask:
    """Which points stay: of every `bucket` neighbours the first, the last, the lowest and the highest.

    Beside them all of `whole` [n], and all values that are not finite.
    """
    size = len(points.value)
    finite = np.isfinite(points.value)
    stay = whole | ~finite
    starts = np.arange(0, size, bucket)
    stay[starts] = True
    stay[np.minimum(starts + bucket, size) - 1] = True
    for fill, place in ((np.inf, np.argmin), (-np.inf, np.argmax)):
        held = np.pad(np.where(finite, points.value, fill), (0, -size % bucket), constant_values=fill)
        # where nothing is finite this is some point that stays anyway
        stay[np.minimum(starts + place(held.reshape(-1, bucket), axis=1), size - 1)] = True
    return stay
