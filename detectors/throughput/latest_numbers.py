"""The latest numbers of a series, for their quantiles and for comparing all of them at once."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from holter.types import FloatArray

_FEW_UNORDERED = 256
"""Numbers up to which inserting each into thousands takes less time than sorting all."""


class RollingQuantiles:
    """The latest numbers, put in order once a quantile is needed: those of most windows hardly ever are.

    `_queue` has them in the order in which they were added, the last `_unordered` of them not in `_ordered`.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._queue: deque[float] = deque()
        self._ordered: list[float] = []
        self._unordered = 0

    def __len__(self) -> int:
        return min(len(self._queue), self._memory)

    def copy(self) -> RollingQuantiles:
        other = RollingQuantiles(self._memory)
        other._queue, other._ordered = self._queue.copy(), self._ordered.copy()
        other._unordered = self._unordered
        return other

    def extend(self, values: Sequence[float]) -> None:
        self._queue.extend(values)
        self._unordered += len(values)
        if self._unordered > self._memory // 4:
            self._order()

    def _order(self) -> None:
        ordered, queue = self._ordered, self._queue
        if self._unordered > _FEW_UNORDERED:
            for _ in range(len(queue) - self._memory):
                queue.popleft()
            self._ordered = sorted(queue)
        else:
            for index in range(-self._unordered, 0):
                insort(ordered, queue[index])
            while len(queue) > self._memory:
                del ordered[bisect_left(ordered, queue.popleft())]
        self._unordered = 0

    def in_order(self) -> FloatArray:
        """The numbers in the order in which they were added."""
        return np.array(self._queue)[-self._memory :]

    def quantile(self, share: float) -> float:
        if self._unordered:
            self._order()
        return self._ordered[int(share * (len(self._ordered) - 1))]

    def noise(self, few: int) -> float:
        """The robust standard deviation."""
        # quartiles: a quarter of the blocks may be slow without widening it; wider while few are known
        noise = (self.quantile(0.75) - self.quantile(0.25)) / 1.349
        known = len(self._ordered)
        if known < few:
            noise = max(noise, (self.quantile(0.9) - self.quantile(0.1)) / 2.563)
        return noise * (1 + 8 / known)


class LatestNumbers:
    """The latest numbers in order, to be compared all at once."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._values = array("d")

    def copy(self) -> LatestNumbers:
        other = LatestNumbers(self._memory)
        other._values = self._values[:]
        return other

    def extend(self, values: Iterable[float]) -> None:
        self._values.extend(values)
        if len(self._values) > 2 * self._memory:
            del self._values[: -self._memory]

    def moved(self, by: float) -> list[float]:
        """All of them, higher by so much."""
        return [value + by for value in self._values[-self._memory :]]

    def least_step(self) -> float:
        """The least distance of two different ones; 0 where all are equal."""
        if not self._values:
            return 0.0
        steps = np.diff(np.sort(np.frombuffer(self._values)[-self._memory :]))
        return float(steps.min(where=steps > 0, initial=np.inf)) if steps.any() else 0.0

    def above(self, least: float) -> NDArray[np.bool_]:
        """Which of them are above `least`."""
        if not self._values:
            return np.zeros(0, dtype=np.bool_)
        return np.asarray(np.frombuffer(self._values)[-self._memory :] > least)
