"""Finds the points of a run that newer attempts have superseded, so that they are not on its timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.types import IntArray

_END = np.iinfo(np.int64).max


class AttemptSpan(NamedTuple):
    """The range of steps of one attempt, both ends included."""

    number: int
    first_step: int
    last_step: int


def superseded_points(attempt: IntArray, step: IntArray, spans: Sequence[AttemptSpan]) -> NDArray[np.bool_]:
    """Mark the points that belong to a ghost branch. All arrays are [n]; `spans` are those of all attempts.

    A point is superseded when a newer attempt covers its step, or when the newest attempt of all began at
    or before its step: the run was rolled back behind it, whether or not it got there again. Attempts are
    numbered from 0; `spans` may be in any order.
    """
    ghost = np.zeros(len(step), dtype=bool)
    newest = max((span.number for span in spans), default=0)
    for number in np.flatnonzero(np.bincount(attempt)).tolist() if len(attempt) else ():
        newer = sorted(
            (span.first_step, span.last_step, span.number) for span in spans if span.number > number
        )
        if not newer:
            continue
        first = np.array([begin for begin, _, _ in newer], dtype=np.int64)
        reach = np.array(
            [_END if attempt_number == newest else end for _, end, attempt_number in newer], dtype=np.int64
        )
        own = attempt == number
        index = np.searchsorted(first, step[own], side="right") - 1
        ghost[own] = (index >= 0) & (np.maximum.accumulate(reach)[index] >= step[own])
    return ghost
