"""The writer's queue: what has been written, failed or refused takes no space any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Event
from time import monotonic

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from holter.server.store import Receipt, Store, StoreBusyError, StoreClosedError
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
        self.groups: list[list[object]] = []

    def write(self, connection: object, deliveries: list[object]) -> tuple[list[object], list[object]]:
        self.groups.append(deliveries)
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


def put(thread: WriterThread, size: int, *, timeout: float = 0.0) -> Future[Receipt]:
    reply: Future[Receipt] = Future()
    thread.put(_Encoded(size), reply, timeout=timeout)  # type: ignore[arg-type]
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
        assert len(gate.groups) == 1  # the next try may block for long, too: the others fail at once
        gate.groups.clear()
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


def test_deliveries_that_wait_are_written_together(
    thread: WriterThread, gate: _Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_QUEUED", 100)
    monkeypatch.setattr(module, "_MAX_QUEUED_BYTES", 10_000)
    monkeypatch.setattr(module, "_MAX_GROUP", 3)
    monkeypatch.setattr(module, "_MAX_GROUP_BYTES", 100)
    gate.error = None
    replies = [put(thread, 100)]  # takes a transaction of its own
    assert gate.entered.wait(60)
    replies += [put(thread, size) for size in (1, 1, 1, 1, 60, 39, 1, 60, 60, 1)]
    gate.opened.set()
    assert not wait(replies, 60).not_done
    assert [[one.size for one in group] for group in gate.groups] == [  # type: ignore[attr-defined]
        [100], [1, 1, 1], [1, 60, 39], [1, 60, 60], [1],
    ]  # fmt: skip


def test_what_is_queued_is_written_before_it_closes(thread: WriterThread, gate: _Gate) -> None:
    gate.error = None
    replies = [put(thread, 1) for _ in range(3)]
    gate.opened.set()
    assert thread.close() is True
    assert all(reply.done() and reply.exception() is None for reply in replies)
    assert thread.close() is False
    with pytest.raises(StoreClosedError):
        put(thread, 1)


def test_before_it_starts_nothing_is_taken_and_nothing_is_to_be_closed(
    sqlite_engine: Engine, gate: _Gate
) -> None:
    thread = WriterThread(sqlite_engine, gate)  # type: ignore[arg-type]
    with pytest.raises(StoreClosedError):
        put(thread, 1)
    assert thread.close() is False


def test_it_closes_in_the_middle_of_a_group(
    thread: WriterThread, gate: _Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_GROUP", 10)
    gate.error = None
    replies = [put(thread, 1)]
    assert gate.entered.wait(60)
    replies += [put(thread, 1), put(thread, 1)]
    with ThreadPoolExecutor(1) as pool:
        closed = pool.submit(thread.close)
        gate.opened.set()
        assert closed.result(60)
    assert [len(group) for group in gate.groups] == [1, 2]
    assert all(reply.exception() is None for reply in replies)


def test_it_closes_while_the_database_is_unavailable(thread: WriterThread, gate: _Gate) -> None:
    replies = [put(thread, 1)]
    assert gate.entered.wait(60)
    replies += [put(thread, 1), put(thread, 1)]
    with ThreadPoolExecutor(1) as pool:
        closed = pool.submit(thread.close)
        gate.opened.set()
        assert closed.result(60)
    assert [type(reply.exception()) for reply in replies] == [OperationalError] * 3


def test_who_waits_for_space_gets_it_or_learns_why_not(thread: WriterThread, gate: _Gate) -> None:
    gate.error = None
    for _ in range(3):
        put(thread, 1)
    assert gate.entered.wait(60)
    began = monotonic()
    with pytest.raises(StoreBusyError):
        put(thread, 1, timeout=0.2)
    assert monotonic() - began >= 0.2
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(put, thread, 1, timeout=60.0)
        with pytest.raises(TimeoutError):
            waiting.result(0.05)
        gate.opened.set()
        waiting.result(60).result(60)


def test_who_waits_for_space_does_not_wait_for_a_store_that_closes(thread: WriterThread, gate: _Gate) -> None:
    for _ in range(3):
        put(thread, 1)
    assert gate.entered.wait(60)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(put, thread, 1, timeout=60.0)
        with pytest.raises(TimeoutError):
            waiting.result(0.05)
        closing = pool.submit(thread.close)
        assert isinstance(waiting.exception(30), StoreClosedError)
        gate.opened.set()
        assert closing.result(60)


@pytest.mark.parametrize("unavailable", [False, True])
def test_a_caller_that_has_cancelled_is_left_out(
    unavailable: bool, thread: WriterThread, gate: _Gate
) -> None:
    if not unavailable:
        gate.error = None
    replies = [put(thread, 1)]
    assert gate.entered.wait(60)
    replies += [put(thread, 1), put(thread, 1)]
    assert replies[1].cancel()
    gate.opened.set()
    assert not wait(replies, 60).not_done
    assert replies[1].cancelled()
    assert [bool(reply.exception()) for reply in (replies[0], replies[2])] == [unavailable] * 2
    assert len(gate.groups) == (1 if unavailable else 2)
    _settled(thread)


@pytest.mark.parametrize(("conflicts", "tries", "stored"), [(0, 1, True), (1, 2, True), (2, 2, False)])
def test_a_conflict_with_another_server_is_tried_once_more(
    conflicts: int, tries: int, stored: bool, thread: WriterThread, gate: _Gate
) -> None:
    gate.error = None
    write, left = gate.write, [IntegrityError("INSERT", {}, Exception()) for _ in range(conflicts)]

    def conflicting(connection: object, deliveries: list[object]) -> tuple[list[object], list[object]]:
        written = write(connection, deliveries)
        if left:
            raise left.pop()
        return written

    gate.write = conflicting  # type: ignore[method-assign]
    gate.opened.set()
    reply = put(thread, 1)
    assert isinstance(reply.exception(60), IntegrityError) is not stored
    assert (len(gate.groups), gate.cleared) == (tries, conflicts)
    assert thread.last_error is None  # the database is there


def test_a_delivery_that_cannot_be_written_fails_alone(
    thread: WriterThread, gate: _Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_GROUP", 10)
    gate.error = None
    write = gate.write

    def failing(connection: object, deliveries: list[object]) -> tuple[list[object], list[object]]:
        write(connection, deliveries)
        if any(one.size == 2 for one in deliveries):  # type: ignore[attr-defined]
            raise ValueError("wrong")
        return deliveries, []

    gate.write = failing  # type: ignore[method-assign]
    replies = [put(thread, 1)]
    assert gate.entered.wait(60)
    replies += [put(thread, 2), put(thread, 3)]
    gate.opened.set()
    assert [type(reply.exception(60)) for reply in replies] == [type(None), ValueError, type(None)]
    assert thread.last_error is None


def test_listeners_hear_of_each_commit_and_a_failing_one_stops_nobody(
    thread: WriterThread, gate: _Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.error = None
    write, heard = gate.write, list[object]()
    gate.write = lambda *given: (write(*given)[0], ["a", "b"])  # type: ignore[method-assign, list-item]

    def fails(commit: object) -> None:
        raise RuntimeError("no")

    thread.listen(fails)
    thread.listen(heard.append)
    gate.opened.set()
    put(thread, 1).result(60)
    assert thread.close()
    assert heard == ["a", "b"]
    assert "a listener failed" in caplog.text
