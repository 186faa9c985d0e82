"""A thread-safe LRU cache with a limit in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_ENTRY_OVERHEAD = 300  # bytes an entry takes in addition to its value, with its key


class LruCache:
    """Values by key; when the limit is reached, the least recently used entry is evicted.

    Values are shared between threads: callers must not modify them.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.size = 0

    def get(self, key: Hashable) -> Any:
        """Return the cached value, None if it is absent or was evicted."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Store a value of about `size` bytes in place of the previous one. A value larger than half the
        limit is not stored.
        """
        size += _ENTRY_OVERHEAD
        with self._lock:
            _, old_size = self._entries.pop(key, (None, 0))
            self.size -= old_size
            if 2 * size > self.limit:
                return
            self._entries[key] = (value, size)
            self.size += size
            while self.size > self.limit:
                _, (_, evicted_size) = self._entries.popitem(last=False)
                self.size -= evicted_size
