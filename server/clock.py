"""The server's clock: the machine's, but for moments at which that one jumps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

JUMP = 5.0
"""Seconds by which the machine's clock must go wrong at once to count as a jump; less is followed at once."""
HOLD = 60.0
"""Seconds for which the machine's clock must stay where it has jumped to before it is believed."""


def uptime() -> float:
    """Seconds that nobody can set, suspended ones included where the system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock:
    """Unix seconds, when called. Threads may share it.

    A jump is followed once it has lasted for `HOLD` seconds; until then time goes on as it went before.
    """

    def __init__(
        self, *, wall: Callable[[], float] = time.time, uptime: Callable[[], float] = uptime
    ) -> None:
        self._wall = wall
        self._uptime = uptime
        self._guard = threading.Lock()
        self._offset = wall() - uptime()
        self._since = uptime()
        self._jump: tuple[float, float] | None = None  # to which offset, and when

    def __call__(self) -> float:
        """Now."""
        with self._guard:
            up = self._uptime()
            offset = self._wall() - up
            if abs(offset - self._offset) < JUMP:
                self._offset, self._jump = offset, None
            elif self._jump is None or abs(offset - self._jump[0]) >= JUMP:
                self._jump = offset, up
            elif up - self._jump[1] >= HOLD:
                self._offset, self._jump, self._since = offset, None, up
            return up + self._offset

    def settled(self) -> float:
        """For how many seconds it has been believed without a jump, since the start at most."""
        self()
        with self._guard:
            return 0.0 if self._jump else self._uptime() - self._since
