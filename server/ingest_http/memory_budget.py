"""A limit on the memory of request bodies that are decompressed, decoded, or waiting to become durable."""

from __future__ import annotations

import threading
from typing import Self


class MemoryBudgetError(Exception):
    """The memory budget is exhausted: retry in a moment."""


class MemoryShare:
    """The bytes that one request has reserved, until the last of its holders releases them.

    A request is not the only holder: the thread that decodes its body goes on when the client has
    disconnected or waited too long, and so do deliveries that wait to be written.
    """

    __slots__ = ("_budget", "_holders", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._holders = 0
        self.size = 0

    def grow(self, size: int) -> None:
        """Reserve more bytes. Raises MemoryBudgetError."""
        self._budget.take(size)
        self.size += size

    def hold(self) -> None:
        """Add a holder."""
        self._budget.hold(self, 1)

    def release(self) -> None:
        """Remove a holder."""
        self._budget.hold(self, -1)

    def __enter__(self) -> Self:
        """Hold it for the duration of the block."""
        self.hold()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def count(self, change: int) -> int:
        """Change the number of holders, and return it. Called by the budget, under its lock."""
        self._holders += change
        return self._holders


class MemoryBudget:
    """A number of bytes shared by all requests; a single request may exceed it, so that none is too large
    forever.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self.used = 0

    def share(self) -> MemoryShare:
        """A share of no bytes, without holders so far."""
        return MemoryShare(self)

    def take(self, size: int) -> None:
        """Reserve bytes. Raises MemoryBudgetError."""
        with self._lock:
            if self.used and self.used + size > self._max_bytes:
                raise MemoryBudgetError(f"{self.used:,} bytes of points are being received already")
            self.used += size

    def hold(self, share: MemoryShare, change: int) -> None:
        """Add or remove a holder of a share; the bytes of a share without holders are free."""
        with self._lock:
            if share.count(change) == 0:
                self.used -= share.size
                share.size = 0
