"""Receives bodies of points in an event loop, hands them to the store's thread, and awaits the receipts."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from holter.server.ingest_http.arriving_bodies import ArrivingBodies, Receive
from holter.server.ingest_http.body_limits import BodyError
from holter.server.ingest_http.compression import decompress
from holter.server.ingest_http.json_body import LayoutCache
from holter.server.ingest_http.memory_budget import MemoryBudget, MemoryShare
from holter.server.ingest_http.slow_bodies import DECODE_SECONDS, SlowBodies
from holter.server.ingest_http.validate import deliveries_from_msgpack, delivery_from_json
from holter.server.store import Receipt, Store, StoreClosedError
from holter.types import Delivery

Outcome = Receipt | BaseException

BODY_SECONDS = 60.0
DURABLE_SECONDS = 20.0  # clients wait for 30 s: the error must reach them before
BUDGET_BYTES = 256 * 2**20
LARGE_BODY = 256 * 1024
LARGE_JSON_BODY = 64 * 1024  # JSON takes several times as long to decode
DECODERS = 2
"""Threads that decode large bodies, and so how many of these are decoded at a time."""

BODY_PARSERS: dict[str, Callable[[bytes, LayoutCache], list[Delivery]]] = {
    "application/json": lambda body, layouts: [delivery_from_json(body, layouts)],
    "application/msgpack": deliveries_from_msgpack,
    "application/x-msgpack": deliveries_from_msgpack,
}


class ReceiptQueue:
    """Passes receipts from the store's thread to an event loop, with one wake-up for all that are queued.

    Created in the event loop; `put` is called from any thread.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queued: deque[tuple[asyncio.Future[Receipt], Outcome]] = deque()
        self._wake_scheduled = False

    def expect(self, share: MemoryShare) -> PendingReceipt:
        """Return a future for the receipt of one delivery, whose memory is in the share."""
        return PendingReceipt(self, self._loop.create_future(), share)

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
    """The future-like object that the store resolves for one request; until then it holds the memory."""

    __slots__ = ("_queue", "_share", "future")

    def __init__(self, queue: ReceiptQueue, future: asyncio.Future[Receipt], share: MemoryShare) -> None:
        self._queue = queue
        self._share = share
        self.future = future
        share.hold()

    def set_running_or_notify_cancel(self) -> bool:
        """Always True: the points are stored even if the client has disconnected."""
        return True

    def set_result(self, result: Receipt, /) -> None:
        """The delivery is durable."""
        self._share.release()
        self._queue.put(self.future, result)

    def set_exception(self, exception: BaseException, /) -> None:
        """The delivery was not stored."""
        self._share.release()
        self._queue.put(self.future, exception)

    def discard(self) -> None:
        """The delivery was not sent to the store."""
        self._share.release()


class StoredDelivery(NamedTuple):
    """A durable delivery with its receipt."""

    delivery: Delivery
    receipt: Receipt


Submitted = list[tuple[Delivery, PendingReceipt]]


class Receiver:
    """Receives points of one server.

    Bodies that arrive have `budget_bytes` of memory in `arriving`, and those that are decoded or wait to
    become durable as much again in `budget`: slow senders do not occupy what complete bodies need.
    """

    def __init__(
        self,
        store: Store,
        *,
        limit: int,
        budget_bytes: int = BUDGET_BYTES,
        body_seconds: float = BODY_SECONDS,
        decode_seconds: float = DECODE_SECONDS,
    ) -> None:
        self._store = store
        self._limit = limit
        self._body_seconds = body_seconds
        self._decode_seconds = decode_seconds
        self._layouts = LayoutCache()
        self._queue: ReceiptQueue | None = None
        self._decoders = ThreadPoolExecutor(DECODERS, thread_name_prefix="holter-decode")
        self._slow = SlowBodies()
        self.arriving = ArrivingBodies(max(budget_bytes, 2 * limit))
        self.budget = MemoryBudget(max(budget_bytes, 2 * limit))

    def close(self) -> None:
        """Decode nothing more."""
        self._decoders.shutdown(wait=False, cancel_futures=True)

    async def take(self, receive: Receive, kind: str, coding: str, sender: str = "") -> list[StoredDelivery]:
        """Read a body in one of the forms of BODY_PARSERS, and store its deliveries in order.

        `sender` identifies who shares the memory for arriving bodies with others. Raises TooLargeError,
        CompressionError, BodyError, MemoryBudgetError, BodyTimeoutError, ClientDisconnectedError,
        TimeoutError, and errors of the store.
        """
        body = await self.arriving.read(receive, sender, limit=self._limit, seconds=self._body_seconds)
        if (reason := self._slow.reason(body)) is not None:
            raise BodyError([((), reason)])
        with self.budget.share() as share:
            share.grow(len(body))
            async with asyncio.timeout(DURABLE_SECONDS):
                submitted = await self._submit(body, kind, coding, share)
                del body
                if len(submitted) == 1:  # nearly always: no future that gathers others is needed
                    delivery, reply = submitted[0]
                    return [StoredDelivery(delivery, await reply.future)]
                receipts = await asyncio.gather(*(reply.future for _, reply in submitted))
                return [
                    StoredDelivery(delivery, receipt)
                    for (delivery, _), receipt in zip(submitted, receipts, strict=True)
                ]

    async def _submit(self, body: bytes, kind: str, coding: str, share: MemoryShare) -> Submitted:
        """Decode a body and send its deliveries to the store: small ones here, others in a thread.

        A thread goes on when the request has timed out, and holds the share until it is done.
        """
        if self._queue is None:
            self._queue = ReceiptQueue()
        small = LARGE_JSON_BODY if kind == "application/json" else LARGE_BODY
        if coding == "identity" and len(body) < small:
            return self._decode_and_send(body, kind, coding, share, self._queue)
        share.hold()
        try:
            job = self._decoders.submit(self._decode_and_send, body, kind, coding, share, self._queue)
        except RuntimeError as error:
            share.release()
            raise StoreClosedError("the server is stopping") from error
        job.add_done_callback(lambda _: share.release())
        return await asyncio.wrap_future(job)

    def _decode_and_send(
        self, body: bytes, kind: str, coding: str, share: MemoryShare, queue: ReceiptQueue
    ) -> Submitted:
        start = time.thread_time()
        deliveries = BODY_PARSERS[kind](decompress(body, coding, self._limit, share.grow), self._layouts)
        seconds = time.thread_time() - start
        if seconds > self._decode_seconds:
            limit = f"expected at most {self._decode_seconds:g} s: send smaller batches"
            reason = f"the body took {seconds:.1f} s of processor time to decode, {limit}"
            self._slow.add(body, reason)
            raise BodyError([((), reason)])
        submitted: Submitted = []
        try:
            for delivery in deliveries:  # the next one is encoded while one is written
                reply = queue.expect(share)
                try:
                    self._store.send(delivery, reply)
                except BaseException:
                    reply.discard()
                    raise
                submitted.append((delivery, reply))
        except BaseException as error:
            for _, reply in submitted:  # stored without an acknowledgement: the client will send them again
                reply.future.cancel()
            # the store's limits are narrower than the body's, for labels for instance
            if isinstance(error, ValueError):
                raise BodyError([((), str(error))]) from error
            raise
        return submitted
