"""What open pages are told: new points, changed incidents, new runs.

Live news for open pages: who listens, what they are told, and who is dropped for being slow.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from holter.server.store import Commit

GATHER_SECONDS = 0.1
HEARTBEAT_SECONDS = 15.0
MAX_QUEUED_EVENTS = 256


class LiveEvent(NamedTuple):
    """One event of the stream: its name, the public id of its run, its JSON data."""

    event: str
    run: str
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """The event as it goes over the wire."""
        return b"event: %b\ndata: %b\n\n" % (self.event.encode(), msgspec.json.encode(self.data))


class LiveStream:
    """Hands news from any thread to every open stream.

    News of points are gathered: of each run only the newest within `GATHER_SECONDS` is sent, so that a
    flood of batches costs the pages nothing. A listener that does not keep up is dropped: its browser
    connects again and reads the present state, and the server holds a bounded amount for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gathered: dict[tuple[str, str, Any], LiveEvent] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: dict[asyncio.Queue[bytes | None], str | None] = {}
        self.dropped = 0

    @property
    def listeners(self) -> int:
        """How many streams are open."""
        return len(self._listeners)

    def start(self) -> None:
        """Begin to hand out news, in the event loop that this is called from."""
        self._loop = asyncio.get_running_loop()

    def tell(self, news: LiveEvent) -> None:
        """Tell everyone, from any thread, without waiting. Outside of `start` and `close` it ends here."""
        key = (news.event, news.run, news.data.get("id"))
        with self._lock:
            first = not self._gathered
            self._gathered[key] = news
            loop = self._loop
            if loop is None:
                self._gathered.clear()
            elif first:
                loop.call_soon_threadsafe(loop.call_later, GATHER_SECONDS, self._send)

    def _send(self) -> None:
        with self._lock:
            gathered, self._gathered = self._gathered, {}
        for news in gathered.values():
            encoded = news.encoded()
            for queue, run in list(self._listeners.items()):
                if run is None or run == news.run:
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
        """End every stream, and hand out nothing more."""
        with self._lock:
            self._loop = None
            self._gathered.clear()
        for queue in list(self._listeners):
            self._end(queue)

    async def stream(self, run: str | None = None) -> AsyncIterator[bytes]:
        """The news of one run, or of all, as server-sent events until the listener goes or is dropped."""
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
    """A listener for the store: tells of new points, and of runs not seen before."""
    seen: set[int] = set()

    def tell(commit: Commit) -> None:
        run = commit.public_id
        if commit.run_id not in seen:
            seen.add(commit.run_id)
            live.tell(run_event(run))
        data = {"run_id": run, "last_step": commit.last_step, "attempt": commit.attempt}
        live.tell(LiveEvent("points", run, data))

    return tell


def incident_listener(live: LiveStream) -> Callable[[dict[str, Any]], None]:
    """A listener for incidents: tells each as it now is."""

    def tell(incident: dict[str, Any]) -> None:
        live.tell(LiveEvent("incident", incident["run_id"], incident))

    return tell


def run_event(public_id: str) -> LiveEvent:
    """That a run is new, or has changed as a whole."""
    return LiveEvent("run", public_id, {"run_id": public_id})
