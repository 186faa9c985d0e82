"""The writer's queue: what has been written, failed or refused takes no space any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from holter.server.store import Receipt, Store, StoreBusyError
from holter.server.store import writer as module
from holter.server.store.write.encode import encode_delivery
from holter.server.store.writer import WriterThread
from holter.types import Batch, Column, ConfigKey, Delivery, SeriesKey
from tests.support.stored_runs import running_store


def delivery(number: int, *, rows: int = 1) -> Delivery:
    steps = np.arange(number * rows, (number + 1) * rows)
    values = np.random.default_rng(number).normal(size=rows)
    batch = Batch(steps=steps, times=steps * 1.0, columns=(Column(key=SeriesKey("loss"), values=values),))
    return Delivery(project="p", run="run", writer="w", batch_id=str(number), batch=batch)


@pytest.fixture
def sqlite_store(sqlite_engine: Engine) -> Iterator[Store]:
    with running_store(sqlite_engine) as store:
        yield store


@pytest.mark.parametrize(("limit", "value"), [("_MAX_QUEUED", 2), ("_MAX_QUEUED_BYTES", 20_000)])
def test_what_is_written_gives_its_space_back(
    limit: str, value: int, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, value)
    for number in range(20):
        assert sqlite_store.accept(delivery(number, rows=200), timeout=20).accepted == 200


class _Gate:
    """In place of the batch writer: waits in the first transaction, then fails every one for a while."""

    def __init__(self, error: Exception) -> None:
        self.entered, self.opened = Event(), Event()
        self.error: Exception | None = error
        self.cleared = 0

    def write(self, connection: object, deliveries: list[object]) -> tuple[list[object], list[object]]:
        self.entered.set()
        assert self.opened.wait(60)
        if self.error is not None:
            raise self.error
        return list(deliveries), []

    def clear(self) -> None:
        self.cleared += 1


class _Encoded:
    """A delivery that takes `size` bytes in the queue."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.delivery = delivery(0)


def disk_error() -> Exception:
    """The error of a database that is unavailable."""
    cause = sqlite3.OperationalError("disk I/O error")
    cause.sqlite_errorname = "SQLITE_IOERR_WRITE"
    return OperationalError("INSERT", {}, cause)


@pytest.fixture
def gate() -> _Gate:
    return _Gate(disk_error())


@pytest.fixture
def thread(sqlite_engine: Engine, gate: _Gate, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriterThread]:
    """A writer thread for three deliveries and 30 bytes, that takes one delivery a transaction."""
    monkeypatch.setattr(module, "warm_up", lambda *_: None)
    monkeypatch.setattr(module, "_MAX_QUEUED", 3)
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 30)
    monkeypatch.setattr(module, "_MAX_GROUP", 1)
    thread = WriterThread(sqlite_engine, gate)  # type: ignore[arg-type]
    thread.start()
    yield thread
    gate.opened.set()
    thread.close()


def put(thread: WriterThread, size: int) -> Future[Receipt]:
    reply: Future[Receipt] = Future()
    thread.put(_Encoded(size), reply, timeout=0.0)  # type: ignore[arg-type]
    return reply


@pytest.mark.parametrize(("size", "accepted"), [(1, 3), (15, 2), (40, 1)])
def test_it_is_full_at_either_limit_and_takes_one_delivery_of_any_size(
    size: int, accepted: int, thread: WriterThread, gate: _Gate
) -> None:
    put(thread, size)
    assert gate.entered.wait(60)  # what is being written still counts
    for _ in range(accepted - 1):
        put(thread, size)
    with pytest.raises(StoreBusyError):
        put(thread, size)


def test_settings_and_names_count_as_memory() -> None:
    plain, batch = delivery(0), delivery(0).batch
    config = {ConfigKey(f"setting {number}"): "x" for number in range(1_000)}
    with_settings = replace(plain, batch=replace(batch, config=config))
    assert encode_delivery(plain).size > len(batch.steps) * 32
    assert encode_delivery(with_settings).size > encode_delivery(plain).size + 50 * len(config)


def test_what_fails_while_the_database_is_unavailable_gives_its_space_back(
    thread: WriterThread, gate: _Gate
) -> None:
    for _ in range(4):
        gate.entered.clear()
        gate.opened.clear()
        replies = [put(thread, 10)]
        assert gate.entered.wait(60)
        replies += [put(thread, 10), put(thread, 10)]
        gate.opened.set()
        assert not wait(replies, 60).not_done
        assert [type(reply.exception()) for reply in replies] == [OperationalError] * 3
        assert thread.last_error is gate.error
        _settled(thread)
    assert gate.cleared  # the cache is ahead of a transaction that was rolled back
    gate.error = None
    put(thread, 10).result(60)
    assert thread.last_error is None


def _settled(thread: WriterThread) -> None:
    """Wait until everything is given back: the replies come a moment before."""
    with thread._space:
        assert thread._space.wait_for(lambda: thread._queued == thread._queued_bytes == 0, 60)
