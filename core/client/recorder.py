"""From memory to disk: a thread that turns the logged rows into bodies and appends them to the spool."""

from __future__ import annotations

import threading
import time
from array import array
from collections import deque
from queue import Empty, SimpleQueue

from holter.client.encode import Envelope, Fields, Row, contents
from holter.client.notices import Notices
from holter.client.spool import Spool

ROOM_SECONDS = 0.1
FLUSH_SECONDS = 0.5  # what a killed process can lose
ROWS_AT_ONCE = 10_000
DROPPED = "holter/dropped_points"


class Recorder(threading.Thread):
    """Drains `rows` every half second, or when `wake` says so. While the spool is full they wait in memory.

    `rows` and `wake` may be written to from a signal handler: neither takes a lock. After `close` it is
    ready for another run, which `begin` names.
    """

    def __init__(self, spool: Spool, *, written: threading.Event) -> None:
        super().__init__(name="holter-recorder", daemon=True)
        self.rows: deque[Row] = deque()
        self.wake: SimpleQueue[bool | None] = SimpleQueue()
        self.dropped = 0
        self._spool = spool
        self._written = written
        self._held: deque[tuple[bytes, int]] = deque()  # bodies not on disk yet, with their points
        self._closed = threading.Event()
        self._closed.set()

    def begin(self, envelope: Envelope, notices: Notices) -> None:
        """Record for this run from now on."""
        self._envelope = envelope
        self._notices = notices
        self.rows.clear()
        self._held.clear()
        self.dropped = self._reported = self._number = 0
        self._ended = False  # the run, not only this process
        self._said = False  # that it has
        self._deadline = 0.0
        if envelope.config:  # a launch that hangs before its first step is to be known by it
            self._hold({}, 0, finished=False)
        self._closed.clear()
        if envelope.config:
            self.wake.put(False)

    def _told(self) -> bool | None:
        """What is to be done: write (False), write and finish (True), or end (None).

        Of words that came while others kept the processor, the last one: each flush is a body more.
        """
        try:
            told = self.wake.get(timeout=FLUSH_SECONDS)
            while told is False:
                told = self.wake.get_nowait()
        except Empty:
            return False
        return told

    def run(self) -> None:
        while (told := self._told()) is not None:
            if self._closed.is_set():
                continue
            written = self.flush(last=told)
            self._notices.say()
            if told:
                self._finish(written)

    def _finish(self, written: bool) -> None:
        while not written and time.monotonic() < self._deadline:  # the sender may be making room
            time.sleep(ROOM_SECONDS)
            written = self.flush(last=True)
        if not written:
            self.dropped += sum(points for _, points in self._held)
            self.dropped += sum(len(names) for names, *_ in self.rows)
        self._closed.set()

    def close(self, timeout: float, *, ended: bool) -> None:
        """Write what is in memory, then (`ended`) that the run is over; waits at most `timeout` seconds."""
        self._ended = ended
        self._deadline = time.monotonic() + timeout
        self.wake.put(True)
        self._closed.wait(timeout + FLUSH_SECONDS)

    def end(self) -> None:
        """No run comes any more."""
        self.wake.put(None)

    def flush(self, *, last: bool = False) -> bool:
        """Everything logged so far to disk, as far as there is room; whether that is all of it.

        The last flush of a run that has ended says so in its last body, or in one of its own.
        """
        while self._write_held():
            rows = self._take()
            ending = last and self._ended and not self.rows
            if not rows:
                if not ending or self._said or not self._number:
                    return True
                self._hold({}, 0, finished=True)
            bodies = list(contents(rows))
            for number, (fields, points) in enumerate(bodies, 1):
                self._hold(fields, points, finished=ending and number == len(bodies))
        return False

    def _hold(self, fields: Fields, points: int, *, finished: bool) -> None:
        self._held.append((self._envelope.wrap(self._number, fields, finished=finished), points))
        self._number += 1
        self._said = finished

    def _take(self) -> list[Row]:
        oldest = self.rows.popleft
        rows = [oldest() for _ in range(min(len(self.rows), ROWS_AT_ONCE))]
        lost, self._reported = self.dropped - self._reported, self.dropped
        if rows and lost:  # the loss is data of the run as well
            rows.append(((DROPPED,), rows[-1][1], rows[-1][2], array("d", (lost,)).tobytes()))
        return rows

    def _write_held(self) -> bool:
        """Whether all bodies made so far are on disk."""
        while self._held:
            try:
                if not self._spool.append(self._held[0][0]):
                    self._notices.note(
                        "full", f"the spool {self._spool.folder} has reached its bound; {WAITING}"
                    )
                    return False
            except OSError as error:
                self._notices.note("full", f"the spool cannot be written ({error}); {WAITING}")
                return False
            self._held.popleft()
            self._written.set()
        self._notices.forget("full")
        return True


WAITING = "metrics wait in memory, and are counted and dropped once that is full too (the training goes on)"
