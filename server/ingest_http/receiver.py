"""Takes bodies of points from the event loop to the store, in bounded memory, and their receipts back.

Receipts on their way from the store's thread to the event loop: one wake-up for all that are there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from holter.server.ingest_http.compression import TooLargeError, decompress
from holter.server.ingest_http.json_body import BodyError, Shapes
from holter.server.ingest_http.memory_budget import Room, Share
from holter.server.ingest_http.validate import from_json, several_from_msgpack
from holter.server.store import Receipt, Store
from holter.types import Delivery

Outcome = Receipt | BaseException


class Mail:
    """The way into one event loop. Made in it; `put` is called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[asyncio.Future[Receipt], Outcome]] = deque()
        self._woken = False

    def reply(self) -> Reply:
        """Where the outcome of one delivery is to go."""
        return Reply(self, self._loop.create_future())

    def put(self, future: asyncio.Future[Receipt], outcome: Outcome) -> None:
        """Bring an outcome to whoever waits for it."""
        self._waiting.append((future, outcome))
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._hand_out)
            except RuntimeError:  # the loop has ended: nobody waits any more
                self._waiting.clear()

    def _hand_out(self) -> None:
        self._woken = False  # before the first look: what is put from here on wakes again
        while self._waiting:
            future, outcome = self._waiting.popleft()
            if future.done():  # whoever asked has gone
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


class Reply:
    """The store's way to answer one request, as a future would be."""

    __slots__ = ("_mail", "future")

    def __init__(self, mail: Mail, future: asyncio.Future[Receipt]) -> None:
        self._mail = mail
        self.future = future

    def set_running_or_notify_cancel(self) -> bool:
        """Whoever asked may have gone, but the points are to be kept."""
        return True

    def set_result(self, result: Receipt, /) -> None:
        """It is durable."""
        self._mail.put(self.future, result)

    def set_exception(self, exception: BaseException, /) -> None:
        """It was not stored."""
        self._mail.put(self.future, exception)


BODY_SECONDS = 60.0
DURABLE_SECONDS = 20.0  # clients wait for 30: they are to hear why
HELD_BYTES = 256 * 2**20
LARGE_BODY = 256 * 1024
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

FORMS: dict[str, Callable[[bytes, Shapes], list[Delivery]]] = {
    "application/json": lambda body, shapes: [from_json(body, shapes)],
    "application/msgpack": several_from_msgpack,
    "application/x-msgpack": several_from_msgpack,
}


class GoneError(Exception):
    """Whoever sent the body has gone before its end."""


class SlowError(Exception):
    """A body takes too long to arrive."""


class Taken(NamedTuple):
    """A delivery that is durable."""

    delivery: Delivery
    receipt: Receipt


class Reception:
    """One server's way in for points. Bodies are held until their points are durable, no longer."""

    def __init__(
        self, store: Store, *, limit: int, held: int = HELD_BYTES, patience: float = BODY_SECONDS
    ) -> None:
        self._store = store
        self._limit = limit
        self._patience = patience
        self._shapes = Shapes()
        self._mail: Mail | None = None
        self.room = Room(max(held, 2 * limit))

    async def take(self, receive: Receive, kind: str, coding: str) -> list[Taken]:
        """Read a body in one of `FORMS` and make what is in it durable, in its order.

        Raises TooLargeError, CompressionError, BodyError, NoRoomError, SlowError, GoneError, TimeoutError,
        and what the store raises.
        """
        arrived = False
        with self.room.share() as share:
            try:
                async with asyncio.timeout(self._patience) as deadline:
                    body = await self._read(receive, share)
                    arrived = True
                    deadline.reschedule(asyncio.get_running_loop().time() + DURABLE_SECONDS)
                    mail = self._replies()
                    if coding == "identity" and len(body) < LARGE_BODY:
                        sent = self._send(body, kind, coding, share, mail)
                    else:  # what takes long to unpack must not hold up the others
                        sent = await run_in_threadpool(self._send, body, kind, coding, share, mail)
                    del body
                    receipts = await asyncio.gather(*(reply.future for _, reply in sent))
                    return [Taken(one, receipt) for (one, _), receipt in zip(sent, receipts, strict=True)]
            except TimeoutError:
                if arrived:
                    raise
                raise SlowError(f"the body did not arrive within {self._patience:g} s") from None

    def _replies(self) -> Mail:
        if self._mail is None:
            self._mail = Mail()
        return self._mail

    def _send(
        self, body: bytes, kind: str, coding: str, share: Share, mail: Mail
    ) -> list[tuple[Delivery, Reply]]:
        deliveries = FORMS[kind](decompress(body, coding, self._limit, share.grow), self._shapes)
        sent = []
        try:
            for delivery in deliveries:  # while one is written, the next one is encoded
                reply = mail.reply()
                self._store.send(delivery, reply)
                sent.append((delivery, reply))
        except BaseException as error:
            for _, reply in sent:  # they are kept, but nobody hears of it: they will come again
                reply.future.cancel()
            if isinstance(error, ValueError):  # the store keeps less than the form allows, e.g. many labels
                raise BodyError([((), str(error))]) from error
            raise
        return sent

    async def _read(self, receive: Receive, share: Share) -> bytes:
        """The whole body; most come in one piece, and at once."""
        pieces: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise GoneError
            piece = message.get("body", b"")
            if share.size + len(piece) > self._limit:
                raise TooLargeError(self._limit)
            share.grow(len(piece))
            pieces.append(piece)
            if not message.get("more_body"):
                return b"".join(pieces) if len(pieces) > 1 else piece
