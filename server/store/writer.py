"""The one thread that writes points: what waits while a transaction runs goes into the next one together."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol

from sqlalchemy import Engine

from holter.server.database import was_in_the_way, why_away, writing
from holter.server.store.errors import StoreBusyError, StoreClosedError
from holter.server.store.types import Commit, Receipt
from holter.server.store.warmup import rehearse
from holter.server.store.write.batch_writer import Ledger
from holter.server.store.write.encode import Parcel

_log = logging.getLogger(__name__)

_WAITING = 4000  # deliveries
_WAITING_BYTES = 128 * 2**20
_GROUP = 256
_GROUP_BYTES = 16 * 2**20


class Reply(Protocol):
    """Where the outcome of one delivery goes, from the writer's thread. A future is one."""

    def set_running_or_notify_cancel(self) -> bool:
        """Whether somebody still waits: what nobody waits for is not written."""
        ...

    def set_result(self, result: Receipt, /) -> None:
        """It is durable."""
        ...

    def set_exception(self, exception: BaseException, /) -> None:
        """It could not be written."""
        ...


Waiting = tuple[Parcel, Reply]


class Writer:
    """Takes parcels into a bounded queue and makes them durable in the order in which they came."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine = engine
        self._ledger = ledger
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._room = threading.Condition()
        self._deliveries = 0
        self._bytes = 0
        self._open = False
        self.trouble: Exception | None = None  # why the database took nothing at the last try
        self._listeners: list[Callable[[Commit], None]] = []
        self._thread = threading.Thread(target=self._work, name="holter-store-writer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._open = True
        self._thread.start()

    def close(self) -> bool:
        """Write what waits, then end; whether it was open."""
        with self._room:
            if not self._open:
                return False
            self._open = False
            self._queue.put(None)
            self._room.notify_all()
        self._thread.join()
        return True

    def listen(self, listener: Callable[[Commit], None]) -> None:
        """Call `listener` after each durable commit, in this thread: it must be quick."""
        self._listeners.append(listener)

    def put(self, parcel: Parcel, reply: Reply, *, timeout: float) -> None:
        """Queue a parcel. Raises StoreBusyError when there is no room in time, StoreClosedError."""
        with self._room:
            if not self._has_room():
                self._wait_for_room(timeout)
            if not self._open:
                raise StoreClosedError("the server is stopping")
            self._deliveries += 1
            self._bytes += parcel.size
            self._queue.put((parcel, reply))

    def _wait_for_room(self, timeout: float) -> None:
        end = monotonic() + timeout
        while self._open and not self._has_room():
            if not self._room.wait(max(0.0, end - monotonic())) and not self._has_room():
                raise StoreBusyError("points come in faster than they can be stored")

    def _has_room(self) -> bool:
        return self._deliveries < _WAITING and self._bytes < _WAITING_BYTES

    def _work(self) -> None:
        with suppress(Exception):  # the first to write will hear of it
            rehearse(self._engine, self._ledger)
        while (first := self._queue.get()) is not None:
            group, last = [first], False
            size = first[0].size
            while len(group) < _GROUP and size < _GROUP_BYTES:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                    break
                group.append(following)
                size += following[0].size
            self._make_durable(group)
            self._make_room(group)
            if self.trouble and not last:
                last = self._refuse_all()
            if last:
                return

    def _make_durable(self, group: Sequence[Waiting]) -> None:
        # a caller that has gone was promised nothing
        waiting = [one for one in group if one[1].set_running_or_notify_cancel()]
        if waiting:
            self._write(waiting)

    def _refuse_all(self) -> bool:
        """The database is away: whoever waits is told at once, for the next try may take long, too.

        Returns whether it is time to end.
        """
        assert self.trouble is not None
        while True:
            try:
                one = self._queue.get_nowait()
            except queue.Empty:
                return False
            if one is None:
                return True
            if one[1].set_running_or_notify_cancel():
                one[1].set_exception(self.trouble)
            self._make_room([one])

    def _write(self, group: Sequence[Waiting], *, again: bool = False) -> None:
        try:
            with writing(self._engine) as connection:
                receipts, commits = self._ledger.write(connection, [parcel for parcel, _ in group])
        except Exception as error:
            self._ledger.forget()
            why = why_away(error)
            self.trouble = error if why else None
            if why:
                _log.error("%d deliveries were not stored: %s: %s", len(group), why, error)
                for _, reply in group:
                    reply.set_exception(error)
            elif len(group) > 1:
                for one in group:  # one that cannot be written must not take the others with it
                    self._write([one])
            elif was_in_the_way(error) and not again:
                self._write(group, again=True)
            else:
                _log.exception("a delivery to run %r was not stored", group[0][0].delivery.run)
                group[0][1].set_exception(error)
            return
        self.trouble = None
        for (_, reply), receipt in zip(group, receipts, strict=True):
            reply.set_result(receipt)
        self._tell(commits)

    def _tell(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            for listener in self._listeners:
                try:
                    listener(commit)
                except Exception:
                    _log.exception("a listener failed; the points are stored")

    def _make_room(self, group: Sequence[Waiting]) -> None:
        with self._room:
            self._deliveries -= len(group)
            self._bytes -= sum(parcel.size for parcel, _ in group)
            self._room.notify_all()
