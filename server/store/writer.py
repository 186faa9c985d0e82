"""The writer thread: deliveries queued while a transaction runs share the next one (group commit)."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol

from sqlalchemy import Engine

from holter.server.database import is_conflict, unavailable_reason, writing
from holter.server.store.errors import StoreBusyError, StoreClosedError
from holter.server.store.types import Commit, Receipt
from holter.server.store.warmup import warm_up
from holter.server.store.write.batch_writer import BatchWriter
from holter.server.store.write.encode import EncodedDelivery

_log = logging.getLogger(__name__)

_MAX_QUEUED = 4000  # deliveries
_MAX_QUEUED_BYTES = 128 * 2**20
_MAX_GROUP = 256
_MAX_GROUP_BYTES = 16 * 2**20


class ReceiptFuture(Protocol):
    """Receives the outcome of one delivery from the writer thread; `concurrent.futures.Future` is one."""

    def set_running_or_notify_cancel(self) -> bool:
        """Return False if the caller has cancelled: the delivery is then not written."""
        ...

    def set_result(self, result: Receipt, /) -> None:
        """The delivery is durable."""
        ...

    def set_exception(self, exception: BaseException, /) -> None:
        """The delivery could not be written."""
        ...


PendingWrite = tuple[EncodedDelivery, ReceiptFuture]


class WriterThread:
    """Takes encoded deliveries into a bounded queue and makes them durable in the order of arrival."""

    def __init__(self, engine: Engine, batch_writer: BatchWriter) -> None:
        self._engine = engine
        self._batch_writer = batch_writer
        self._queue: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self._space = threading.Condition()
        self._queued = 0
        self._queued_bytes = 0
        self._open = False
        self.last_error: Exception | None = None  # why the database was unavailable at the last try
        self._listeners: list[Callable[[Commit], None]] = []
        self._thread = threading.Thread(target=self._work, name="holter-store-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._open = True
        self._thread.start()

    def close(self) -> bool:
        """Write what is queued, then stop; returns whether the thread was running."""
        with self._space:
            if not self._open:
                return False
            self._open = False
            self._queue.put(None)
            self._space.notify_all()
        self._thread.join()
        return True

    def listen(self, listener: Callable[[Commit], None]) -> None:
        """Call `listener` after each durable commit, in this thread: it must be fast."""
        self._listeners.append(listener)

    def put(self, delivery: EncodedDelivery, reply: ReceiptFuture, *, timeout: float) -> None:
        """Queue a delivery.

        Raises StoreBusyError if the queue stays full until the timeout, and StoreClosedError.
        """
        with self._space:
            if not self._has_space():
                self._wait_for_space(timeout)
            if not self._open:
                raise StoreClosedError("the server is stopping")
            self._queued += 1
            self._queued_bytes += delivery.size
            self._queue.put((delivery, reply))

    def _wait_for_space(self, timeout: float) -> None:
        deadline = monotonic() + timeout
        while self._open and not self._has_space():
            if not self._space.wait(max(0.0, deadline - monotonic())) and not self._has_space():
                raise StoreBusyError("points come in faster than they can be stored")

    def _has_space(self) -> bool:
        return self._queued < _MAX_QUEUED and self._queued_bytes < _MAX_QUEUED_BYTES

    def _work(self) -> None:
        with suppress(Exception):  # the first delivery reports the error
            warm_up(self._engine, self._batch_writer)
        while (first := self._queue.get()) is not None:
            group, last = [first], False
            size = first[0].size
            while len(group) < _MAX_GROUP and size < _MAX_GROUP_BYTES:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
                size += following[0].size
            self._commit_group(group)
            self._release_space(group)
            if self.last_error and not last:
                last = self._fail_queued()
            if last:
                return

    def _commit_group(self, group: Sequence[PendingWrite]) -> None:
        # a caller that has cancelled was promised nothing
        pending = [write for write in group if write[1].set_running_or_notify_cancel()]
        if pending:
            self._write(pending)

    def _fail_queued(self) -> bool:
        """Fail all queued deliveries at once while the database is unavailable: the next try may block, too.

        Returns whether the thread is to stop.
        """
        assert self.last_error is not None
        while True:
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                return False
            if write is None:
                return True
            if write[1].set_running_or_notify_cancel():
                write[1].set_exception(self.last_error)
            self._release_space([write])

    def _write(self, group: Sequence[PendingWrite], *, again: bool = False) -> None:
        try:
            with writing(self._engine) as connection:
                receipts, commits = self._batch_writer.write(connection, [delivery for delivery, _ in group])
        except Exception as error:
            self._batch_writer.clear()
            reason = unavailable_reason(error)
            self.last_error = error if reason else None
            if reason:
                _log.error("%d deliveries were not stored: %s: %s", len(group), reason, error)
                for _, reply in group:
                    reply.set_exception(error)
            elif len(group) > 1:
                for write in group:  # a delivery that cannot be written must not fail the others of its group
                    self._write([write])
            elif is_conflict(error) and not again:
                self._write(group, again=True)
            else:
                _log.exception("a delivery to run %r was not stored", group[0][0].delivery.run)
                group[0][1].set_exception(error)
            return
        self.last_error = None
        for (_, reply), receipt in zip(group, receipts, strict=True):
            reply.set_result(receipt)
        self._notify_listeners(commits)

    def _notify_listeners(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            for listener in self._listeners:
                try:
                    listener(commit)
                except Exception:
                    _log.exception("a listener failed; the points are stored")

    def _release_space(self, group: Sequence[PendingWrite]) -> None:
        with self._space:
            self._queued -= len(group)
            self._queued_bytes -= sum(delivery.size for delivery, _ in group)
            self._space.notify_all()
