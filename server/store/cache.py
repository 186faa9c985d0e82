"""Memory of what was worked out lately, within a bound of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_ENTRY = 300  # bytes that any value takes beside its own, with its key


class Memory:
    """Values by their keys. When there is no room, what was not asked for the longest time goes first.

    Values are shared by threads: whoever gets one leaves it as it is.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._guard = threading.Lock()
        self.size = 0

    def get(self, key: Hashable) -> Any:
        """What was put last, None if nothing was or it had to go."""
        with self._guard:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Remember a value of about `size` bytes for the one before; not if it would fill half the room."""
        size += _ENTRY
        with self._guard:
            _, before = self._held.pop(key, (None, 0))
            self.size -= before
            if 2 * size > self.limit:
                return
            self._held[key] = (value, size)
            self.size += size
            while self.size > self.limit:
                _, (_, gone) = self._held.popitem(last=False)
                self.size -= gone
