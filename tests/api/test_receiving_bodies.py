"""Bodies are received within a limit of memory that neither stalled senders nor endless work can occupy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from holter.server.ingest_http import receiver as receiver_module
from holter.server.ingest_http.arriving_bodies import ArrivingBodies, BodyTimeoutError
from holter.server.ingest_http.body_limits import BodyError
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.ingest_http.receiver import Receiver
from holter.server.store import Receipt, Store
from holter.server.store.writer import ReceiptFuture
from holter.types import Delivery
from tests.support.waiting import wait_for

BODY = b'{"project":"p","run":"r","columns":{"step":[1],"a":[1]}}' + b" " * receiver_module.LARGE_BODY
RECEIPT = Receipt(run_id=1, public_id="a", attempt=0, accepted=1, duplicate=False)


class StalledStore(Store):
    """Accepts deliveries, and makes none of them durable before `finish`."""

    def __init__(self) -> None:
        self.waiting: list[ReceiptFuture] = []

    def send(self, delivery: Delivery, reply: ReceiptFuture) -> None:
        self.waiting.append(reply)

    def finish(self) -> None:
        for reply in self.waiting:
            reply.set_result(RECEIPT)


def sent(content: bytes) -> Callable[[], Awaitable[dict[str, Any]]]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content}

    return receive


def arriving(*pieces: bytes) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A body of which these pieces arrive, and nothing more."""
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    return receive


def test_memory_is_occupied_until_the_deliveries_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiver_module, "DURABLE_SECONDS", 0.05)
    store = StalledStore()
    receiver = Receiver(store, limit=len(BODY), budget_bytes=0)  # room for two bodies

    async def ask() -> None:
        for _ in range(2):  # an impatient client, and its retry
            with pytest.raises(TimeoutError):
                await receiver.take(sent(BODY), "application/json", "identity")
        with pytest.raises(MemoryBudgetError):
            await receiver.take(sent(BODY), "application/json", "identity")

    asyncio.run(ask())
    assert receiver.budget.used == 2 * len(BODY)
    store.finish()
    assert receiver.budget.used == 0
    receiver.close()


def test_memory_is_occupied_until_a_body_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def decode(body: bytes, layouts: object) -> list[Delivery]:
        begun.set()
        assert go_on.wait(60)
        return []

    monkeypatch.setitem(receiver_module.BODY_PARSERS, "application/json", decode)
    monkeypatch.setattr(receiver_module, "DURABLE_SECONDS", 0.05)
    receiver = Receiver(StalledStore(), limit=2**20)

    async def ask() -> None:
        with pytest.raises(TimeoutError):
            await receiver.take(sent(BODY), "application/json", "identity")

    asyncio.run(ask())
    assert begun.is_set()
    assert receiver.budget.used == len(BODY)
    go_on.set()
    wait_for(lambda: receiver.budget.used == 0)
    receiver.close()


def test_what_was_too_slow_once_is_refused_without_decoding_it_again() -> None:
    receiver = Receiver(StalledStore(), limit=2**20, decode_seconds=-1)

    async def ask() -> str:
        with pytest.raises(BodyError) as refused:
            await receiver.take(sent(BODY), "application/json", "identity")
        return str(refused.value)

    first = asyncio.run(ask())
    assert "of processor time to decode, expected at most -1 s: send smaller batches" in first
    receiver_module.BODY_PARSERS["application/json"], parse = (
        lambda *_: pytest.fail("it is decoded again"),
        receiver_module.BODY_PARSERS["application/json"],
    )
    try:
        assert asyncio.run(ask()) == first
    finally:
        receiver_module.BODY_PARSERS["application/json"] = parse
    receiver.close()


class ManualClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def started(bodies: ArrivingBodies, sender: str, *pieces: bytes) -> asyncio.Task[bytes]:
    """A body of which the pieces have arrived."""
    before = bodies.used
    task = asyncio.create_task(bodies.read(arriving(*pieces), sender, limit=100, seconds=60))
    while bodies.used < before + sum(map(len, pieces)):
        await asyncio.sleep(0)
    return task


async def ended(task: asyncio.Task[bytes]) -> str:
    with pytest.raises(BodyTimeoutError) as timeout:
        await task
    return str(timeout.value)


def test_the_stalled_body_of_the_largest_sender_makes_room() -> None:
    async def check() -> None:
        clock = ManualClock()
        bodies = ArrivingBodies(200, clock=clock)
        small = await started(bodies, "one", b"x" * 60)
        large = [await started(bodies, "two", b"x" * size) for size in (40, 50, 30)]
        read = bodies.read
        with pytest.raises(MemoryBudgetError, match="180 bytes of points are being received already"):
            await read(sent(b"x" * 30), "three", limit=100, seconds=60)
        clock.now = 2.0
        assert await read(sent(b"x" * 30), "three", limit=100, seconds=60) == b"x" * 30
        assert await ended(large[1]) == "the body arrives too slowly while others wait for memory"
        assert bodies.used == 130
        assert not any(task.done() for task in (small, large[0], large[2]))
        for task in (small, large[0], large[2]):
            task.cancel()
        await asyncio.gather(small, *large, return_exceptions=True)
        assert bodies.used == 0

    asyncio.run(check())


def test_a_body_in_many_pieces_arrives_whole() -> None:
    pieces = [bytes([number]) for number in range(90)]
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    bodies = ArrivingBodies(100)
    assert asyncio.run(bodies.read(receive, "one", limit=90, seconds=60)) == b"".join(pieces)
    assert bodies.used == 0
