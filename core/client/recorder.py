"""The recorder thread: encodes logged rows as request bodies and appends them to the spool."""

from __future__ import annotations

import threading
import time
from array import array
from collections import deque
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import Any

from holter.client.encode import Envelope, Fields, Row, split_into_bodies
from holter.client.notices import Notices
from holter.client.spool import Spool

SPOOL_RETRY_SECONDS = 0.1
FLUSH_SECONDS = 0.5  # the most a killed process can lose
ROWS_PER_FLUSH = 10_000
DROPPED_METRIC = "holter/dropped_points"


class Recorder(threading.Thread):
    """Drains `rows` every half second or on `wake`. While the spool is full, rows wait in memory.

    Signal handlers may write to `rows` and `wake`: neither takes a lock. After `close` the recorder is
    ready for another run, set by `start_run`.
    """

    def __init__(self, spool: Spool, *, written: threading.Event) -> None:
        super().__init__(name="holter-recorder", daemon=True)
        self.rows: deque[Row] = deque()
        self.wake: SimpleQueue[bool | None] = SimpleQueue()
        self.statements: deque[Mapping[str, Any]] = deque()  # settings that became known after the start
        self.dropped = 0
        self._spool = spool
        self._written = written
        self._pending: deque[tuple[bytes, int]] = (
            deque()
        )  # bodies not on disk yet, with their number of points
        self._closed = threading.Event()
        self._closed.set()

    def start_run(self, envelope: Envelope, notices: Notices) -> None:
        """Record rows for this run."""
        self._envelope = envelope
        self._notices = notices
        self.rows.clear()
        self.statements.clear()
        self._pending.clear()
        self.dropped = self._reported = self._number = 0
        self._ended = False  # the run has ended, not only this process
        self._end_written = False  # the end of the run is in a body
        self._deadline = 0.0
        if envelope.config:  # sent at once, so that a launch that hangs before its first step is visible
            self._add_body({}, 0, finished=False)
        self._closed.clear()
        if envelope.config:
            self.wake.put(False)

    def _next_command(self) -> bool | None:
        """Return the next command: write (False), write and finish (True), or end the thread (None).

        Commands that queued up are merged into the last one, since each flush makes another body.
        """
        try:
            command = self.wake.get(timeout=FLUSH_SECONDS)
            while command is False:
                command = self.wake.get_nowait()
        except Empty:
            return False
        return command

    def run(self) -> None:
        while (command := self._next_command()) is not None:
            if self._closed.is_set():
                continue
            written = self.flush(last=command)
            self._notices.flush()
            if command:
                self._finish(written)

    def _finish(self, written: bool) -> None:
        while not written and time.monotonic() < self._deadline:  # the uploader may be freeing space
            time.sleep(SPOOL_RETRY_SECONDS)
            written = self.flush(last=True)
        if not written:
            self.dropped += sum(points for _, points in self._pending)
            self.dropped += sum(len(names) for names, *_ in self.rows)
        self._closed.set()

    def close(self, timeout: float, *, ended: bool) -> None:
        """Write what is in memory and, if `ended`, the end of the run; waits at most `timeout` seconds."""
        self._ended = ended
        self._deadline = time.monotonic() + timeout
        self.wake.put(True)
        self._closed.wait(timeout + FLUSH_SECONDS)

    def end(self) -> None:
        """End the thread."""
        self.wake.put(None)

    def flush(self, *, last: bool = False) -> bool:
        """Write everything logged so far as far as the spool has space; returns whether all was written.

        The last flush of a run that has ended marks its last body as the end, or adds an empty one.
        """
        if self._number or self.rows:  # a process that logs nothing makes no run
            self._add_statements()
        while self._write_pending():
            rows = self._take_rows()
            last_of_run = last and self._ended and not self.rows
            if not rows:
                if not last_of_run or self._end_written or not self._number:
                    return True
                self._add_body({}, 0, finished=True)
            bodies = list(split_into_bodies(rows))
            for number, (fields, points) in enumerate(bodies, 1):
                self._add_body(fields, points, finished=last_of_run and number == len(bodies))
        return False

    def _add_body(self, fields: Fields, points: int, *, finished: bool) -> None:
        self._pending.append((self._envelope.wrap(self._number, fields, finished=finished), points))
        self._number += 1
        self._end_written = finished

    def _add_statements(self) -> None:
        """Add the settings that became known since; of a process without labels they are the job's."""
        while self.statements:
            settings = self.statements.popleft()
            labels = self._envelope.setting_labels
            if not labels:
                self._add_body({"config": settings}, 0, finished=False)
                continue
            named = [{"name": name, "value": value, "labels": labels} for name, value in settings.items()]
            self._add_body({"settings": named}, 0, finished=False)

    def _take_rows(self) -> list[Row]:
        oldest = self.rows.popleft
        rows = [oldest() for _ in range(min(len(self.rows), ROWS_PER_FLUSH))]
        lost, self._reported = self.dropped - self._reported, self.dropped
        if rows and lost:  # the number of dropped points is logged as a metric
            rows.append(((DROPPED_METRIC,), rows[-1][1], rows[-1][2], array("d", (lost,)).tobytes()))
        return rows

    def _write_pending(self) -> bool:
        """Write pending bodies; returns whether all are on disk."""
        while self._pending:
            try:
                if not self._spool.append(self._pending[0][0]):
                    self._notices.note(
                        "full", f"the spool {self._spool.folder} has reached its size limit; {WAITING}"
                    )
                    return False
            except OSError as error:
                self._notices.note("full", f"the spool cannot be written ({error}); {WAITING}")
                return False
            self._pending.popleft()
            self._written.set()
        self._notices.forget("full")
        return True


WAITING = "metrics wait in memory; once it is full, points are dropped and counted (the training continues)"
