"""How many bytes of bodies are held at once: what is read, unpacked, or waits to become durable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class NoRoomError(Exception):
    """Too much is held already: come back in a moment."""


class Share:
    """What one request holds of the room."""

    __slots__ = ("_room", "size")

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def grow(self, size: int) -> None:
        """Hold so many bytes more. Raises NoRoomError."""
        self._room.take(size)
        self.size += size


class Room:
    """`most` bytes for all requests together; one alone may take more, so that none is too large for ever."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self.held = 0

    @contextmanager
    def share(self) -> Iterator[Share]:
        """What a request holds until its end."""
        share = Share(self)
        try:
            yield share
        finally:
            with self._guard:
                self.held -= share.size

    def take(self, size: int) -> None:
        """Hold so many bytes more. Raises NoRoomError."""
        with self._guard:
            if self.held and self.held + size > self._most:
                raise NoRoomError(f"{self.held:,} bytes of points are on their way already")
            self.held += size
