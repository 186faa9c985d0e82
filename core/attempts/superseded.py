"""The timeline: which points newer attempts have superseded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.types import IntArray

_END = np.iinfo(np.int64).max


class Span(NamedTuple):
    """The steps that one attempt covers, both ends included."""

    number: int
    first_step: int
    last_step: int


def superseded(attempt: IntArray, step: IntArray, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """True where a point belongs to a ghost branch. All arrays [n]; `spans` of the whole run, in any order.
    Attempts are numbered from 0.

    A point is superseded when a newer attempt covers its step, or when the newest attempt of all began at
    or before its step: the run was rolled back behind it, whether or not it got there again.
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
        reach = np.array([_END if which == newest else end for _, end, which in newer], dtype=np.int64)
        mine = attempt == number
        at = np.searchsorted(first, step[mine], side="right") - 1
        ghost[mine] = (at >= 0) & (np.maximum.accumulate(reach)[at] >= step[mine])
    return ghost
