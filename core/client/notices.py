"""Warnings of the client: each cause once, on the logger "holter", never as an exception."""

from __future__ import annotations

import logging
from collections import deque

from holter.terminal_text import printable

LOGGER = logging.getLogger("holter")


class Notices:
    """Collects notices without I/O; a background thread writes them to the log.

    A notice is not repeated under the same key until `forget`.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._pending: deque[str] = deque()

    def note(self, key: str, text: str) -> None:
        """Add a notice; no I/O and no lock, so that `log` may call it."""
        if key not in self._given:
            self._given.add(key)
            self._pending.append(text)

    def forget(self, key: str) -> bool:
        """Allow the notice again because its cause is gone; returns whether it had been given."""
        known = key in self._given
        self._given.discard(key)
        return known

    def flush(self) -> None:
        """Write pending notices to the log."""
        while self._pending:
            LOGGER.warning("holter: %s", printable(self._pending.popleft()))
