"""The sink of a process that follows files: each call is a request to the process that has the real one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from holter.ingest.tailing.messages import MessageEncoder, Reply, Request, decode_reply
from holter.ingest.tailing.sink import SinkError
from holter.types import Cursor, Delivery, Unreadable

CURSORS_AT_ONCE = 200
MAX_COLUMNS = 200_000
MAX_MESSAGE_BYTES = 256 * 2**20
"""Limits of one delivery: a larger one is refused, since it would take the sink's process too long."""


class RemoteSink:
    """Sends calls over a connection and waits for their replies; any thread may call.

    `waits` is told when a thread begins and ends to wait. Replies that no call waits for are requests of the
    other process: `on_request` is called with each. `on_end` is called when the connection ends: then this
    process does, since what was not stored is read again.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        waits: Callable[[bool], None],
        on_request: Callable[[Reply], None],
        on_end: Callable[[], None] = lambda: os._exit(0),
    ) -> None:
        self._connection, self._waits, self._on_request, self._on_end = connection, waits, on_request, on_end
        self._encoder = MessageEncoder()
        self._lock = threading.Lock()
        self._number = 0
        self._expected: dict[str, Cursor | None] = {}
        self._calls: dict[int, _Call] = {}
        threading.Thread(target=self._receive, name="replies", daemon=True).start()

    def accept(self, delivery: Delivery, *, timeout: float = 30) -> object:
        """Store a delivery. Raises ValueError where it is refused, SinkError where that failed."""
        self._forget(delivery.cursor)
        columns = len(delivery.batch.columns)
        if columns > MAX_COLUMNS:
            raise ValueError(f"expected at most {MAX_COLUMNS} series in one batch, found {columns}")
        return self._call("accept", delivery)

    def cursor(self, source: str) -> Cursor | None:
        """The stored cursor of a source. Raises SinkError."""
        with self._lock:
            if source in self._expected:
                return self._expected.pop(source)
        cursor = self._call("cursor", source)
        return cursor if isinstance(cursor, Cursor) else None

    def expect_cursors(self, sources: Sequence[str]) -> None:
        """Ask for many cursors at once; `cursor` then returns each of these once. Raises SinkError."""
        for start in range(0, len(sources), CURSORS_AT_ONCE):
            names = tuple(sources[start : start + CURSORS_AT_ONCE])
            cursors = self._call("cursors", names)
            if isinstance(cursors, list):
                with self._lock:
                    self._expected.update(zip(names, cursors, strict=True))

    def _forget(self, cursor: Cursor | None) -> None:
        """What was asked for ahead is no longer the cursor of its source."""
        if cursor is not None:
            with self._lock:
                self._expected.pop(cursor.source, None)

    def save_cursor(self, cursor: Cursor) -> None:
        """Store a cursor. Raises SinkError."""
        self._forget(cursor)
        self._call("save_cursor", cursor)

    def report_unreadable(self, unreadable: Unreadable, *, cursor: Cursor | None = None) -> None:
        """Report what cannot be read. Raises SinkError."""
        self._forget(cursor)
        self._call("report_unreadable", unreadable, cursor=cursor)

    def tell(self, method: str, *arguments: object) -> None:
        """Send a message that has no reply."""
        with self._lock:
            self._send(Request(0, method, arguments, {}))

    def _call(self, method: str, *arguments: object, **named: object) -> object:
        call = _Call()
        self._waits(True)
        try:
            with self._lock:
                self._number += 1
                number = self._number
                self._calls[number] = call
                self._send(Request(number, method, arguments, named))
            call.done.wait()
        finally:
            self._waits(False)
            self._calls.pop(number, None)
        return call.result()

    def _send(self, request: Request) -> None:
        message = self._encoder.encode(request)
        if len(message) > MAX_MESSAGE_BYTES:
            raise ValueError(f"expected a batch of at most {MAX_MESSAGE_BYTES} bytes, found {len(message)}")
        try:
            self._connection.send_bytes(message)
        except OSError:
            self._on_end()

    def _receive(self) -> None:
        while True:
            try:
                reply = decode_reply(self._connection.recv_bytes())
            except (OSError, EOFError):
                self._on_end()
                return
            call = self._calls.get(reply.number)
            if call is not None:
                call.reply = reply
                call.done.set()
            elif not reply.number:
                self._on_request(reply)


class _Call:
    """A call that waits for its reply."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reply: Reply | None = None

    def result(self) -> object:
        assert self.reply is not None
        if not self.reply.error:
            return self.reply.value
        raise (ValueError if self.reply.refused else SinkError)(self.reply.error)
