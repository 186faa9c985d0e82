"""Standard input on its way to the server: read at once, spooled on disk, sent when the server accepts it."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from holter.cli.agent.environment import PipeEnvironment
from holter.cli.agent.http_sink import encode_delivery
from holter.cli.agent.stdin_reader import StdinReader
from holter.client.notices import Notices
from holter.client.recorder import DROPPED_METRIC
from holter.client.spool import Spool
from holter.plurals import counted
from holter.types import Batch, Column, Delivery, SeriesKey, Unreadable

CHUNK_BYTES = 64 * 1024
GATHER_SECONDS = 0.25  # a kill can lose what was read in this time
GRACE_SECONDS = 10.0  # for the pipe to end after a signal: the job may be writing its last lines
MAX_NOTICES = 10
_NO_STEPS, _NO_TIMES = np.zeros(0, np.int64), np.zeros(0)


@dataclass(frozen=True, kw_only=True)
class PipedRun:
    """The run that the text belongs to. `restarts`: the launcher states that it is a later launch."""

    project: str
    run: str
    writer: str
    attempt: str | None = None
    restarts: bool = False


class StopSignal:
    """Handles signals: the first gives the pipe some seconds to end, the second ends at once."""

    def __init__(self) -> None:
        self.deadline = float("inf")

    def set(self) -> None:
        """Handle one signal."""
        now = time.monotonic()
        self.deadline = now + GRACE_SECONDS if self.deadline == float("inf") else now

    @property
    def over(self) -> bool:
        """Whether the pipe is no longer waited for."""
        return time.monotonic() >= self.deadline


def read_chunks(source: int, stop: StopSignal, tee: int | None = None) -> Iterator[bytes]:
    """The content of a pipe in chunks of some KiB, each within a quarter of a second, until it ends.

    A chunk is empty where nothing came in this time. With `tee` everything is also copied to that file
    descriptor at once.
    """
    chunk, since = b"", 0.0
    while not stop.over:
        timeout = max(0.0, since + GATHER_SECONDS - time.monotonic()) if chunk else GATHER_SECONDS
        ready, _, _ = select.select([source], [], [], timeout)
        if ready:
            data = os.read(source, CHUNK_BYTES)
            if not data:
                break
            tee = _copy(data, tee)
            since = since if chunk else time.monotonic()
            chunk += data
        if not chunk:
            yield b""
        elif len(chunk) >= CHUNK_BYTES or time.monotonic() - since >= GATHER_SECONDS:
            yield chunk
            chunk = b""
    if chunk:
        yield chunk


def _copy(data: bytes, tee: int | None) -> int | None:
    """Write everything to `tee`; returns None when its reader is gone, which is no reason to stop."""
    if tee is None:
        return None
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(tee, data) :]
        return tee
    return None


class BatchSpooler:
    """Writes batches to the spool. Points that do not fit are counted, logged and recorded in the run."""

    def __init__(
        self,
        run: PipedRun,
        reader: StdinReader,
        spool: Spool,
        notices: Notices,
        environment: PipeEnvironment,
    ) -> None:
        self._run, self._reader, self._spool, self._notices = run, reader, spool, notices
        self._environment = environment
        self._number = 0
        self._unrecorded_drops = 0
        self.bytes = self.points = self.dropped = self.unreadable = 0
        self.last_problem = ""

    def run(self, chunks: Iterator[bytes], notify_written: Callable[[], None]) -> None:
        """Spool everything until the pipe ends; calls `notify_written` when there is something to send."""
        for chunk in chunks:
            if chunk:
                self.bytes += len(chunk)
                self._spool_records(self._reader.read(chunk), notify_written)
            self._spool_environment(notify_written)
        self._spool_records(self._reader.finish(), notify_written)
        self._environment.wait()
        self._spool_environment(notify_written)

    def _spool_environment(self, notify_written: Callable[[], None]) -> None:
        config = self._environment.take()
        if config and self._append(Batch(steps=_NO_STEPS, times=_NO_TIMES, columns=(), config=config)):
            notify_written()

    def _spool_records(
        self, records: Iterator[Batch | Unreadable], notify_written: Callable[[], None]
    ) -> None:
        for record in records:
            if isinstance(record, Unreadable):
                self._report_unreadable(record)
            elif record.points or record.config:
                self._spool_batch(record)
                notify_written()
        self._notices.flush()

    def _spool_batch(self, batch: Batch) -> None:
        if self._run.restarts and self._number == 0:
            batch = replace(batch, restarts=True)
        if not self._append(batch):
            self.dropped += batch.points
            self._unrecorded_drops += batch.points
            return
        self.points += batch.points
        if batch.points:
            self._environment.training_began()
        if self._unrecorded_drops and len(batch.steps):  # the loss is data of the run as well
            column = Column(
                key=SeriesKey(DROPPED_METRIC),
                values=np.array([float(self._unrecorded_drops)]),
                rows=np.array([0], np.int64),
            )
            if self._append(Batch(steps=batch.steps[-1:], times=batch.times[-1:], columns=(column,))):
                self._unrecorded_drops = 0

    def _append(self, batch: Batch) -> bool:
        run = self._run
        delivery = Delivery(
            project=run.project,
            run=run.run,
            writer=run.writer,
            batch_id=f"{run.writer}-{self._number}",
            batch=batch if batch.attempt or not run.attempt else replace(batch, attempt=run.attempt),
        )
        try:
            stored = self._spool.append(encode_delivery(delivery))
            reason = "has reached its limit (HOLTER_SPOOL_BYTES)"
        except OSError as error:
            stored, reason = False, f"cannot be written ({error})"
        if stored:
            self._number += 1
            if self._notices.forget("full"):
                text = f"{counted(self.dropped, 'point')} dropped: the spool was full"
                self._notices.note(f"dropped {self.dropped}", text)
        else:
            self.last_problem = f"the spool {self._spool.folder} {reason}"
            self._notices.note(
                "full",
                f"{self.last_problem}: new points are dropped and counted until the server accepts data",
            )
        return stored

    def _report_unreadable(self, unreadable: Unreadable) -> None:
        self.unreadable += 1
        last = "; further ones are not listed" if self.unreadable == MAX_NOTICES else ""
        if self.unreadable <= MAX_NOTICES:
            self._notices.note(f"{self.unreadable}", f"{unreadable.location}: {unreadable.reason}{last}")
