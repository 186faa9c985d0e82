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


class LiveEvent(NamedTuple):
    """One event of the stream: its name, the public id of its run (None: no run's), its JSON data."""

    event: str
    run: str | None
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The event in the format of server-sent events."""
        return b"event: %b\ndata: %b\n\n" % (self.event.encode(), msgspec.json.encode(self.data))


class LiveStream:
    """Passes events from any thread to every open stream.

    Events are gathered for `GATHER_SECONDS`, and of several about one run's points or one incident only the
    newest is sent, so that a flood of batches costs the pages nothing. A listener that reads too slowly is
    disconnected: its browser reconnects and reads the present state, and memory per listener is bounded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gathered: dict[tuple[str, str | None, Any], LiveEvent] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: dict[asyncio.Queue[bytes | None], str | None] = {}
        self.dropped = 0

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return len(self._listeners)

    def start(self) -> None:
        """Start to send events from the running event loop."""
        self._loop = asyncio.get_running_loop()

    def publish(self, event: LiveEvent) -> None:
        """Send an event to all listeners, from any thread, without waiting; discard it when not started."""
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
            for queue, run in list(self._listeners.items()):
                if run is None or run == event.run:
                    self._offer(queue, encoded)

    def _offer(self, queue: asyncio.Queue[bytes | None], encoded: bytes) -> None:
        if queue.qsize() < MAX_QUEUED_EVENTS:
            queue.put_nowait(encoded)
        else:
            self.dropped += 1
            self._end(queue)

    def _end(self, queue: asyncio.Queue[bytes | None]) -> None:
        self._listeners.pop(queue, None)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)

    def close(self) -> None:
        """End all streams, and send nothing more."""
        with self._lock:
            self._loop = None
            self._gathered.clear()
        for queue in list(self._listeners):
            self._end(queue)

    async def stream(self, run: str | None = None) -> AsyncGenerator[bytes]:
        """The events of one run, or of all, until the listener leaves or is disconnected."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        if self._loop is None:
            return
        self._listeners[queue] = run
        try:
            yield b"retry: 1000\n: connected\n\n"
            while True:
                try:
                    encoded = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    encoded = b": still here\n\n"
                if encoded is None:
                    return
                yield encoded
        finally:
            self._listeners.pop(queue, None)


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
