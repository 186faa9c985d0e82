"""What the client tells people: each thing once, on the logger "holter", never as an exception."""

from __future__ import annotations

import logging
from collections import deque

LOGGER = logging.getLogger("holter")


class Notices:
    """Collects notices without any I/O; a background thread says them.

    A notice already given under its key is not given again until `forget`.
    """

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._pending: deque[str] = deque()

    def note(self, key: str, text: str) -> None:
        """Take a notice; no I/O, no lock, so that `log` may call it."""
        if key not in self._given:
            self._given.add(key)
            self._pending.append(text)

    def forget(self, key: str) -> bool:
        """The cause is gone: the next time is news again. Whether there had been a notice."""
        known = key in self._given
        self._given.discard(key)
        return known

    def say(self) -> None:
        """Write out what is pending."""
        while self._pending:
            LOGGER.warning("holter: %s", self._pending.popleft())
