"""A limit on the memory of request bodies that are read, decompressed, or waiting to become durable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class MemoryBudgetError(Exception):
    """The memory budget is exhausted: retry in a moment."""


class MemoryShare:
    """The bytes that one request has reserved."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0

    def grow(self, size: int) -> None:
        """Reserve more bytes. Raises MemoryBudgetError."""
        self._budget.take(size)
        self.size += size


class MemoryBudget:
    """A number of bytes shared by all requests; a single request may exceed it, so that none is too large
    forever.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self.used = 0

    @contextmanager
    def share(self) -> Iterator[MemoryShare]:
        """A request's share, released at the end of the block."""
        share = MemoryShare(self)
        try:
            yield share
        finally:
            with self._lock:
                self.used -= share.size

    def take(self, size: int) -> None:
        """Reserve bytes. Raises MemoryBudgetError."""
        with self._lock:
            if self.used and self.used + size > self._max_bytes:
                raise MemoryBudgetError(f"{self.used:,} bytes of points are being received already")
            self.used += size
