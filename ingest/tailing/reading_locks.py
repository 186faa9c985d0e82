"""Which runs and files are being read now, so that no two threads read the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadingLocks:
    """Locks by name, each for one thread at a time, or all for one. Locking never waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._names: set[str] = set()
        self._all = False

    @contextmanager
    def lock(self, *names: str) -> Iterator[bool]:
        """Lock these names while the context lasts, if all of them are free; yields whether they were."""
        with self._changed:
            free = not self._all and self._names.isdisjoint(names)
            if free:
                self._names.update(names)
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    self._names.difference_update(names)
                    self._changed.notify_all()

    @contextmanager
    def lock_all(self) -> Iterator[bool]:
        """Lock every name while the context lasts, if all are free; yields whether they were."""
        with self._changed:
            free = not self._all and not self._names
            self._all = self._all or free
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    self._all = False

    def wait_until_free(self, seconds: float) -> bool:
        """Wait until nothing is locked, so many seconds at most; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._names, seconds)
