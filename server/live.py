"""Live events for open pages: new points, changed incidents, new runs, as server-sent events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from holter.server.alerting.incident import Incident
from holter.server.schemas.incidents import incident_view
from holter.server.schemas.service import PointsEvent, RunEvent
from holter.server.store import Commit

GATHER_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0
MAX_QUEUED_EVENTS = 256
MAX_QUEUED_BYTES = 256 * 1024
"""Bytes of events that may wait for one listener."""


class LiveEvent(NamedTuple):
    """One event of the stream: its name, the public id of its run (None: no run's), its JSON data."""

    event: str
    run: str | None
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The event in the format of server-sent events."""
        return b"event: %b\ndata: %b\n\n" % (self.event.encode(), msgspec.json.encode(self.data))


class _Listener:
    """The events that wait for one open stream; None ends it. `run`: of which run, None for all."""

    def __init__(self, run: str | None) -> None:
        self.run = run
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.waiting_bytes = 0

    def offer(self, encoded: bytes) -> bool:
        """Queue an event; whether there was room for it."""
        if self.queue.qsize() >= MAX_QUEUED_EVENTS or self.waiting_bytes + len(encoded) > MAX_QUEUED_BYTES:
            return False
        self.waiting_bytes += len(encoded)
        self.queue.put_nowait(encoded)
        return True

    def end(self) -> None:
        """Drop what waits, and end the stream."""
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)

    async def next(self) -> bytes | None:
        """Wait for the next event, or a heartbeat."""
        try:
            encoded = await asyncio.wait_for(self.queue.get(), HEARTBEAT_SECONDS)
        except TimeoutError:
            return b": still here\n\n"
        self.waiting_bytes -= len(encoded or b"")
        return encoded


class LiveStream:
    """Passes events from any thread to every open stream.

    Events are gathered for `GATHER_SECONDS`, and of several about one run's points or one incident only the
    newest is sent, so that a flood of batches costs the pages nothing. A listener that reads too slowly is
    disconnected: its browser reconnects and reads the present state, and memory per listener is bounded.
    `on_event` is called first, in the thread that publishes, and must be fast.
    """

    def __init__(self, *, on_event: Callable[[LiveEvent], None] = lambda _: None) -> None:
        self._on_event = on_event
        self._lock = threading.Lock()
        self._gathered: dict[tuple[str, str | None, Any], LiveEvent] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: dict[_Listener, None] = {}
        self.dropped = 0
        self.closed = threading.Event()

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return len(self._listeners)

    def start(self) -> None:
        """Start to send events from the running event loop."""
        self.closed.clear()
        self._loop = asyncio.get_running_loop()

    def publish(self, event: LiveEvent) -> None:
        """Send an event to all listeners, from any thread, without waiting; discard it when not started."""
        self._on_event(event)
        key = (event.event, event.run, event.data.get("id"))
        with self._lock:
            first = not self._gathered
            self._gathered[key] = event
            loop = self._loop
            if loop is None:
                self._gathered.clear()
            elif first:
                loop.call_soon_threadsafe(loop.call_later, GATHER_SECONDS, self._send)

    def _send(self) -> None:
        with self._lock:
            gathered, self._gathered = self._gathered, {}
        for event in gathered.values():
            encoded = event.encoded()
            for listener in list(self._listeners):
                if listener.run is None or listener.run == event.run:
                    self._offer(listener, encoded)

    def _offer(self, listener: _Listener, encoded: bytes) -> None:
        if not listener.offer(encoded):
            self.dropped += 1
            self._end(listener)

    def _end(self, listener: _Listener) -> None:
        self._listeners.pop(listener, None)
        listener.end()

    def close(self) -> None:
        """End all streams, and send nothing more: the server is stopping."""
        self.closed.set()
        with self._lock:
            self._loop = None
            self._gathered.clear()
        for listener in list(self._listeners):
            self._end(listener)

    async def stream(self, run: str | None = None) -> AsyncGenerator[bytes]:
        """The events of one run, or of all, until the listener leaves or is disconnected."""
        if self._loop is None:
            return
        listener = _Listener(run)
        self._listeners[listener] = None
        try:
            yield b"retry: 1000\n: connected\n\n"
            while (encoded := await listener.next()) is not None:
                yield encoded
        finally:
            self._listeners.pop(listener, None)


def commit_listener(live: LiveStream) -> Callable[[Commit], None]:
    """A listener for the store, which publishes new points, and runs at their first commit."""
    seen: set[int] = set()

    def publish(commit: Commit) -> None:
        run = commit.public_id
        if commit.run_id not in seen:
            seen.add(commit.run_id)
            live.publish(run_event(run))
        data = PointsEvent(run_id=run, last_step=commit.last_step, attempt=commit.attempt)
        live.publish(LiveEvent("points", run, data))

    return publish


def incident_listener(live: LiveStream) -> Callable[[Incident], None]:
    """A listener for incidents, which publishes each that changes."""

    def publish(incident: Incident) -> None:
        data = incident_view(incident)
        live.publish(LiveEvent("incident", data["run_id"] or "", data))

    return publish


def run_event(public_id: str) -> LiveEvent:
    """The event that a run is new, or has changed otherwise than by points."""
    return LiveEvent("run", public_id, RunEvent(run_id=public_id))
