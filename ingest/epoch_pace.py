"""How long the epochs of a file take, as far as rows that follow one another epoch by epoch show."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

_LEAST_EPOCHS = 3
"""Epochs that must have been timed."""
_LEAST_SECONDS = 2.0
"""Clocks have whole seconds: shorter epochs have no pace."""
_LEAST_SKIPPED = 4
_SHARE = 0.5
"""Part of the time of the shortest epochs in which as many cannot have been trained."""


class EpochPace:
    """Remembers the time of the last row, and the shortest time of an epoch among so many."""

    def __init__(self, state: Sequence[float]) -> None:
        self._time: float
        self._shortest: float
        self._count: float
        self._time, self._shortest, self._count = state or (nan, 0.0, 0)

    def state(self) -> list[float]:
        """What is known, as JSON-able values; empty before the first row with a time."""
        return [] if isnan(self._time) else [self._time, self._shortest, self._count]

    def note(self, epochs: int, time: float) -> None:
        """A row comes so many epochs behind the one before, 0 if it is the first one of a launch."""
        if isnan(time):
            return
        seconds = time - self._time
        if epochs == 1 and seconds > 0:
            self._shortest = min(self._shortest, seconds) if self._count else seconds
            self._count += 1
        self._time = time

    def is_too_fast(self, epochs: int, time: float) -> bool:
        """Whether a row is so many epochs behind the last one that there was no time for these."""
        if epochs < _LEAST_SKIPPED or self._count < _LEAST_EPOCHS or self._shortest < _LEAST_SECONDS:
            return False
        return time - self._time < _SHARE * epochs * self._shortest
