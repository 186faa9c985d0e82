"""Receives bodies of points in an event loop, hands them to the store's thread, and awaits the receipts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from holter.server.ingest_http.compression import TooLargeError, decompress
from holter.server.ingest_http.json_body import BodyError, LayoutCache
from holter.server.ingest_http.memory_budget import MemoryBudget, MemoryShare
from holter.server.ingest_http.validate import deliveries_from_msgpack, delivery_from_json
from holter.server.store import Receipt, Store
from holter.types import Delivery

Outcome = Receipt | BaseException

BODY_SECONDS = 60.0
DURABLE_SECONDS = 20.0  # clients wait for 30 s: the error must reach them before
BUDGET_BYTES = 256 * 2**20
LARGE_BODY = 256 * 1024
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

BODY_PARSERS: dict[str, Callable[[bytes, LayoutCache], list[Delivery]]] = {
    "application/json": lambda body, layouts: [delivery_from_json(body, layouts)],
    "application/msgpack": deliveries_from_msgpack,
    "application/x-msgpack": deliveries_from_msgpack,
}


class ClientDisconnectedError(Exception):
    """The client disconnected before the end of the body."""


class BodyTimeoutError(Exception):
    """A body takes too long to arrive."""


class ReceiptQueue:
    """Passes receipts from the store's thread to an event loop, with one wake-up for all that are queued.

    Created in the event loop; `put` is called from any thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queued: deque[tuple[asyncio.Future[Receipt], Outcome]] = deque()
        self._wake_scheduled = False

    def expect(self) -> PendingReceipt:
        """Return a future for the receipt of one delivery."""
        return PendingReceipt(self, self._loop.create_future())

    def put(self, future: asyncio.Future[Receipt], outcome: Outcome) -> None:
        """Queue an outcome for the request that awaits it."""
        self._queued.append((future, outcome))
        if not self._wake_scheduled:
            self._wake_scheduled = True
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop has ended: no request awaits it
                self._queued.clear()

    def _deliver(self) -> None:
        self._wake_scheduled = False  # reset first: later puts schedule another wake-up
        while self._queued:
            future, outcome = self._queued.popleft()
            if future.done():  # the request was cancelled
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


class PendingReceipt:
    """The future-like object that the store resolves for one request."""

    __slots__ = ("_queue", "future")

    def __init__(self, queue: ReceiptQueue, future: asyncio.Future[Receipt]) -> None:
        self._queue = queue
        self.future = future

    def set_running_or_notify_cancel(self) -> bool:
        """Always True: the points are stored even if the client has disconnected."""
        return True

    def set_result(self, result: Receipt, /) -> None:
        """The delivery is durable."""
        self._queue.put(self.future, result)

    def set_exception(self, exception: BaseException, /) -> None:
        """The delivery was not stored."""
        self._queue.put(self.future, exception)


class StoredDelivery(NamedTuple):
    """A durable delivery with its receipt."""

    delivery: Delivery
    receipt: Receipt


class Receiver:
    """Receives points of one server. Bodies are in memory until their points are durable."""

    def __init__(
        self,
        store: Store,
        *,
        limit: int,
        budget_bytes: int = BUDGET_BYTES,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._store = store
        self._limit = limit
        self._body_seconds = body_seconds
        self._layouts = LayoutCache()
        self._queue: ReceiptQueue | None = None
        self.budget = MemoryBudget(max(budget_bytes, 2 * limit))

    async def take(self, receive: Receive, kind: str, coding: str) -> list[StoredDelivery]:
        """Read a body in one of the forms of BODY_PARSERS, and store its deliveries in order.

        Raises TooLargeError, CompressionError, BodyError, MemoryBudgetError, BodyTimeoutError,
        ClientDisconnectedError, TimeoutError, and errors of the store.
        """
        arrived = False
        with self.budget.share() as share:
            try:
                async with asyncio.timeout(self._body_seconds) as deadline:
                    body = await self._read(receive, share)
                    arrived = True
                    deadline.reschedule(asyncio.get_running_loop().time() + DURABLE_SECONDS)
                    queue = self._receipt_queue()
                    if coding == "identity" and len(body) < LARGE_BODY:
                        submitted = self._submit(body, kind, coding, share, queue)
                    else:  # slow decompression must not block the event loop
                        submitted = await run_in_threadpool(self._submit, body, kind, coding, share, queue)
                    del body
                    receipts = await asyncio.gather(*(reply.future for _, reply in submitted))
                    return [
                        StoredDelivery(delivery, receipt)
                        for (delivery, _), receipt in zip(submitted, receipts, strict=True)
                    ]
            except TimeoutError:
                if arrived:
                    raise
                raise BodyTimeoutError(f"the body did not arrive within {self._body_seconds:g} s") from None

    def _receipt_queue(self) -> ReceiptQueue:
        if self._queue is None:
            self._queue = ReceiptQueue()
        return self._queue

    def _submit(
        self, body: bytes, kind: str, coding: str, share: MemoryShare, queue: ReceiptQueue
    ) -> list[tuple[Delivery, PendingReceipt]]:
        deliveries = BODY_PARSERS[kind](decompress(body, coding, self._limit, share.grow), self._layouts)
        submitted = []
        try:
            for delivery in deliveries:  # the next one is encoded while one is written
                reply = queue.expect()
                self._store.send(delivery, reply)
                submitted.append((delivery, reply))
        except BaseException as error:
            for _, reply in submitted:  # stored without an acknowledgement: the client will send them again
                reply.future.cancel()
            # the store's limits are narrower than the body's, for labels for instance
            if isinstance(error, ValueError):
                raise BodyError([((), str(error))]) from error
            raise
        return submitted

    async def _read(self, receive: Receive, share: MemoryShare) -> bytes:
        """Read the body; most arrive in one piece at once."""
        pieces: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientDisconnectedError
            piece = message.get("body", b"")
            if share.size + len(piece) > self._limit:
                raise TooLargeError(self._limit)
            share.grow(len(piece))
            pieces.append(piece)
            if not message.get("more_body"):
                return b"".join(pieces) if len(pieces) > 1 else piece
