"""Step ranges of the series of an attempt, and from them the step range of the attempt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.server.store.encoding.block import PointBlock
from holter.types import IntArray

_INT64_MAX = np.iinfo(np.int64).max


class AttemptProgress:
    """Point counts and step ranges of each series in one attempt, by the series' index in the run."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0, dtype=np.int64)
        self._last = np.zeros(0, dtype=np.int64)

    def add(self, indices: IntArray, counts: IntArray, first: IntArray, last: IntArray) -> None:
        """Add points of series: how many, their first and last step; arrays [c]."""
        self._grow(int(indices.max()) + 1)
        self._counts[indices] += counts
        self._first[indices] = np.minimum(self._first[indices], first)
        self._last[indices] = np.maximum(self._last[indices], last)

    def counts_and_first_steps(self, indices: IntArray) -> tuple[IntArray, IntArray]:
        """Counts and first steps of these series; 0 and the largest int64 for a series without points."""
        self._grow(int(indices.max(initial=-1)) + 1)
        return self._counts[indices], self._first[indices]

    def step_range(self, excluded: Sequence[int] = ()) -> tuple[int, int]:
        """First and last step, over the series with at least half as many points as the longest one.

        Others may count something other than steps, epochs for instance. The series at the indices `excluded`
        are known to do so: they count only if there is no other.
        """
        counts = self._counts
        if excluded:
            counts = counts.copy()
            counts[[index for index in excluded if index < len(counts)]] = 0
            counts = counts if counts.any() else self._counts
        clock = 2 * counts >= counts.max()
        return int(self._first[clock].min()), int(self._last[clock].max())

    def _grow(self, size: int) -> None:
        missing = size - len(self._counts)
        if missing > 0:
            zeros = np.zeros(missing, dtype=np.int64)
            self._counts = np.concatenate((self._counts, zeros))
            self._first = np.concatenate((self._first, zeros + _INT64_MAX))
            self._last = np.concatenate((self._last, zeros - _INT64_MAX))


def step_ranges(block: PointBlock) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest step of each series of a block."""
    if block.rows is None:
        ones = np.ones(len(block.ids), dtype=np.int64)
        return ones * block.steps.min(), ones * block.steps.max()
    steps, starts = block.steps[block.rows], block.offsets[:-1]
    return np.minimum.reduceat(steps, starts), np.maximum.reduceat(steps, starts)
