"""Where what is read from logs goes: a store, a server elsewhere, another process."""

from __future__ import annotations

from typing import Protocol

from holter.types import Cursor, Delivery, Unreadable


class Sink(Protocol):
    """Takes batches. Each call returns when what it got is durable, or raises."""

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        """Store a batch and its cursor, both or neither."""
        ...

    def cursor(self, source: str) -> Cursor | None:
        """The last cursor stored for a source."""
        ...

    def save_cursor(self, cursor: Cursor) -> None:
        """Store a cursor alone, after bytes that hold no points."""
        ...

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Store what could not be read, and the cursor after it."""
        ...


class SinkError(Exception):
    """The sink failed to take a call; the cause is attached. The cursor has not advanced."""
