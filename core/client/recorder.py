"""From memory to disk: a thread that turns the logged rows into bodies and appends them to the spool."""

from __future__ import annotations

import threading
import time
from array import array
from collections import deque
from queue import Empty, SimpleQueue

from holter.client.body import Envelope, Row, contents
from holter.client.notices import Notices
from holter.client.spool import Spool

FINISH = b'{"finish": '  # begins the line that says that the run is over; the run's last body follows
ROOM_SECONDS = 0.1
FLUSH_SECONDS = 0.5  # what a killed process can lose
ROWS_AT_ONCE = 10_000
DROPPED = "holter/dropped_points"


class Recorder(threading.Thread):
    """Drains `rows` every half second, or when `wake` says so. While the spool is full they wait in memory.

    `rows` and `wake` may be written to from a signal handler: neither takes a lock.
    """

    def __init__(
        self, spool: Spool, envelope: Envelope, notices: Notices, *, written: threading.Event
    ) -> None:
        super().__init__(name="holter-recorder", daemon=True)
        self.rows: deque[Row] = deque()
        self.wake: SimpleQueue[bool] = SimpleQueue()
        self.dropped = 0
        self._reported = 0
        self._spool = spool
        self._envelope = envelope
        self._notices = notices
        self._written = written
        self._number = 0
        self._held: deque[tuple[bytes, int]] = deque()  # bodies not on disk yet, with their points
        self._newest = b""
        self._ended = False
        self._deadline = 0.0

    def run(self) -> None:
        closing = False
        while not closing:
            try:
                closing = self.wake.get(timeout=FLUSH_SECONDS)
            except Empty:
                closing = False
            written = self.flush()
            self._notices.say()
        while not written and time.monotonic() < self._deadline:  # the sender may be making room
            time.sleep(ROOM_SECONDS)
            written = self.flush()
        if not written:
            self.dropped += sum(points for _, points in self._held)
            self.dropped += sum(len(row.values) for row in self.rows)
        elif self._ended and self._newest:
            self._held.append((FINISH + self._newest.rstrip() + b"}\n", 0))
            self._write_held()

    def close(self, timeout: float, *, ended: bool) -> None:
        """Write what is in memory, then (`ended`) that the run is over; waits at most `timeout` seconds."""
        self._ended = ended
        self._deadline = time.monotonic() + timeout
        self.wake.put(True)
        self.join(timeout + FLUSH_SECONDS)

    def flush(self) -> bool:
        """Everything logged so far to disk, as far as there is room; whether that is all of it."""
        while self._write_held():
            rows = self._take()
            if not rows:
                return True
            for content, points in contents(rows):
                self._newest = self._envelope.wrap(self._number, content)
                self._held.append((self._newest, points))
                self._number += 1
        return False

    def _take(self) -> list[Row]:
        rows = [self.rows.popleft() for _ in range(min(len(self.rows), ROWS_AT_ONCE))]
        lost, self._reported = self.dropped - self._reported, self.dropped
        if rows and lost:  # the loss is data of the run as well
            rows.append(Row((DROPPED,), rows[-1].step, rows[-1].time, array("d", (lost,))))
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
