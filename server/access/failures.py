"""Failed logins: who tries passwords waits, and who tries from everywhere takes no memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

ALLOWED = 5
WINDOW = 60.0
"""Seconds within which a client may fail so many times."""
CLIENTS = 10_000
"""Clients whose failures are remembered, those that failed last."""


class FailedLogins:
    """The latest failures of each client. Threads may share it."""

    def __init__(self, clock: Callable[[], float], *, clients: int = CLIENTS) -> None:
        self._clock = clock
        self._most = clients
        self._guard = threading.Lock()
        self._at: OrderedDict[str, list[float]] = OrderedDict()  # by client, who failed last at the end

    def wait(self, client: str) -> int:
        """Seconds this client must wait before it may try again, 0 if it may now."""
        now = self._clock()
        with self._guard:
            recent = [at for at in self._at.get(client, ()) if now - WINDOW < at <= now]
        return int(recent[-ALLOWED] + WINDOW - now) + 1 if len(recent) >= ALLOWED else 0

    def add(self, client: str) -> None:
        """Count a failure of a client."""
        now = self._clock()
        with self._guard:
            self._at[client] = [*self._at.pop(client, ()), now][-ALLOWED:]
            while len(self._at) > self._most or self._first() <= now - WINDOW:
                self._at.popitem(last=False)

    def _first(self) -> float:
        """When the client failed last that has not for the longest time."""
        return self._at[next(iter(self._at))][-1]
