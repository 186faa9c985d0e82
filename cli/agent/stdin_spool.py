"""Standard input on its way to the server: read at once, spooled on disk, sent when the server takes it."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from holter.cli.agent.http_sink import body_of
from holter.cli.agent.stdin_reader import Listener
from holter.client.notices import Notices
from holter.client.recorder import DROPPED_METRIC
from holter.client.spool import Spool
from holter.plurals import counted
from holter.types import Batch, Column, Delivery, SeriesKey, Unreadable

PIECE = 64 * 1024
GATHER_SECONDS = 0.25  # what a kill can lose of what was read
LAST_WORDS_SECONDS = 10.0  # for the pipe's end, after a signal: the job may be writing its last lines
TOLD_PLACES = 10


@dataclass(frozen=True, kw_only=True)
class Piped:
    """Whose text it is. `restarts`: the launcher says that this launch is not the job's first."""

    project: str
    run: str
    writer: str
    attempt: str | None = None
    restarts: bool = False


class Stop:
    """Signals: the first lets the pipe come to its end for a while, the second ends at once."""

    def __init__(self) -> None:
        self.deadline = float("inf")

    def set(self) -> None:
        """Take a signal."""
        now = time.monotonic()
        self.deadline = now + LAST_WORDS_SECONDS if self.deadline == float("inf") else now

    @property
    def over(self) -> bool:
        """Whether nobody waits for the pipe any more."""
        return time.monotonic() >= self.deadline


def pieces(source: int, stop: Stop, tee: int | None = None) -> Iterator[bytes]:
    """What comes through a pipe in pieces of some KiB, within a quarter of a second, until its end.

    With `tee` everything is passed through at once, whatever becomes of the rest.
    """
    held, since = b"", 0.0
    while not stop.over:
        left = max(0.0, since + GATHER_SECONDS - time.monotonic()) if held else GATHER_SECONDS
        ready, _, _ = select.select([source], [], [], left)
        if ready:
            data = os.read(source, PIECE)
            if not data:
                break
            tee = _pass_on(data, tee)
            since = since if held else time.monotonic()
            held += data
        if held and (len(held) >= PIECE or time.monotonic() - since >= GATHER_SECONDS):
            yield held
            held = b""
    if held:
        yield held


def _pass_on(data: bytes, tee: int | None) -> int | None:
    """Write everything; None where nobody reads it any more, which is no reason to stop."""
    if tee is None:
        return None
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(tee, data) :]
        return tee
    return None


class Spooler:
    """Turns what is heard into bodies on disk. What finds no room is counted, said, and told to the run."""

    def __init__(self, piped: Piped, listener: Listener, spool: Spool, notices: Notices) -> None:
        self._piped, self._listener, self._spool, self._notices = piped, listener, spool, notices
        self._number = 0
        self._told = 0
        self._unsaid = 0
        self.bytes = self.points = self.dropped = self.unreadable = 0
        self.last_problem = ""

    def run(self, pieces: Iterator[bytes], written: Callable[[], None]) -> None:
        """Take everything to the pipe's end; `written` is called when there is something to send."""
        for piece in pieces:
            self.bytes += len(piece)
            self._keep(self._listener.hear(piece), written)
        self._keep(self._listener.end(), written)

    def _keep(self, records: Iterator[Batch | Unreadable], written: Callable[[], None]) -> None:
        for record in records:
            if isinstance(record, Unreadable):
                self._tell(record)
            elif record.points or record.config:
                self._put(record)
                written()
        self._notices.flush()

    def _put(self, batch: Batch) -> None:
        if self._piped.restarts and self._number == 0:
            batch = replace(batch, restarts=True)
        if not self._append(batch):
            self.dropped += batch.points
            self._unsaid += batch.points
            return
        self.points += batch.points
        if self._unsaid and len(batch.steps):  # the loss is data of the run as well
            lost = Column(
                key=SeriesKey(DROPPED_METRIC),
                values=np.array([float(self._unsaid)]),
                rows=np.array([0], np.int64),
            )
            if self._append(Batch(steps=batch.steps[-1:], times=batch.times[-1:], columns=(lost,))):
                self._unsaid = 0

    def _append(self, batch: Batch) -> bool:
        piped = self._piped
        delivery = Delivery(
            project=piped.project,
            run=piped.run,
            writer=piped.writer,
            batch_id=f"{piped.writer}-{self._number}",
            batch=batch if batch.attempt or not piped.attempt else replace(batch, attempt=piped.attempt),
        )
        try:
            kept = self._spool.append(body_of(delivery))
            reason = "has reached its bound (HOLTER_SPOOL_BYTES)"
        except OSError as error:
            kept, reason = False, f"cannot be written ({error})"
        if kept:
            self._number += 1
            if self._notices.forget("full"):
                lost = f"{counted(self.dropped, 'point')} lost: no room"
                self._notices.note(f"room {self.dropped}", lost)
        else:
            self.last_problem = f"the spool {self._spool.folder} {reason}"
            self._notices.note(
                "full", f"{self.last_problem}: new points are counted and lost until the server takes the old"
            )
        return kept

    def _tell(self, unreadable: Unreadable) -> None:
        self.unreadable += 1
        self._told += 1
        last = "; more are not told" if self._told == TOLD_PLACES else ""
        if self._told <= TOLD_PLACES:
            self._notices.note(f"{self._told}", f"{unreadable.location}: {unreadable.reason}{last}")
