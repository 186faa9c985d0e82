"""The server's clock: the system clock, protected against sudden jumps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

JUMP_SECONDS = 5.0
"""Seconds of sudden deviation of the system clock that count as a jump; smaller ones are followed at once."""
JUMP_HOLD_SECONDS = 60.0
"""Seconds for which a jump must last before it is followed."""


def uptime() -> float:
    """Seconds since boot, which nobody can set, including suspended time where the system counts it."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock:
    """Returns Unix seconds when called. Threads may share it.

    A jump is followed once it has lasted for JUMP_HOLD_SECONDS; until then time continues at its previous
    rate.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, uptime: Callable[[], float] = uptime
    ) -> None:
        self._wall = wall
        self._uptime = uptime
        self._lock = threading.Lock()
        self._offset = wall() - uptime()
        self._settled_since = uptime()
        self._jump: tuple[float, float] | None = None  # new offset, first seen at

    def __call__(self) -> float:
        """Return the current time."""
        with self._lock:
            up = self._uptime()
            offset = self._wall() - up
            if abs(offset - self._offset) < JUMP_SECONDS:
                self._offset, self._jump = offset, None
            elif self._jump is None or abs(offset - self._jump[0]) >= JUMP_SECONDS:
                self._jump = offset, up
            elif up - self._jump[1] >= JUMP_HOLD_SECONDS:
                self._offset, self._jump, self._settled_since = offset, None, up
            return up + self._offset

    def settled(self) -> float:
        """Return for how many seconds the clock has run without a jump, since the start at most."""
        self()
        with self._lock:
            return 0.0 if self._jump else self._uptime() - self._settled_since
