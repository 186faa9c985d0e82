"""How far each attempt of a run has come: steps of the series that tell its progress."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.server.store.encoding.block import Block
from holter.types import IntArray

_MOST = np.iinfo(np.int64).max


class Progress:
    """Counts and step ranges of each series in one attempt; a series is found by its place in the run."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0, dtype=np.int64)
        self._last = np.zeros(0, dtype=np.int64)

    def add(self, places: IntArray, counts: IntArray, first: IntArray, last: IntArray) -> None:
        """Take in some points of series: how many, from which step to which; arrays [c]."""
        self._grow(int(places.max()) + 1)
        self._counts[places] += counts
        self._first[places] = np.minimum(self._first[places], first)
        self._last[places] = np.maximum(self._last[places], last)

    def at(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Counts and first steps of the series at these places; 0 and a step beyond all where none is."""
        self._grow(int(places.max(initial=-1)) + 1)
        return self._counts[places], self._first[places]

    def span(self, aside: Sequence[int] = ()) -> tuple[int, int]:
        """First and last step, of the series with at least half as many points as the longest.

        Others may count something else than steps, epochs for instance. Those at the places `aside` are
        known to do so: they count where there is nothing else.
        """
        counts = self._counts
        if aside:
            counts = counts.copy()
            counts[[place for place in aside if place < len(counts)]] = 0
            counts = counts if counts.any() else self._counts
        clock = 2 * counts >= counts.max()
        return int(self._first[clock].min()), int(self._last[clock].max())

    def _grow(self, size: int) -> None:
        missing = size - len(self._counts)
        if missing > 0:
            nothing = np.zeros(missing, dtype=np.int64)
            self._counts = np.concatenate((self._counts, nothing))
            self._first = np.concatenate((self._first, nothing + _MOST))
            self._last = np.concatenate((self._last, nothing - _MOST))


def ranges(block: Block) -> tuple[IntArray, IntArray]:
    """The lowest and the highest step of each series of a block."""
    if block.rows is None:
        everywhere = np.ones(len(block.ids), dtype=np.int64)
        return everywhere * block.steps.min(), everywhere * block.steps.max()
    steps, starts = block.steps[block.rows], block.offsets[:-1]
    return np.minimum.reduceat(steps, starts), np.maximum.reduceat(steps, starts)
