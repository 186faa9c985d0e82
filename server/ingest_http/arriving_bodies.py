"""Reads request bodies from their connections, within one limit of memory that slow senders cannot block."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from time import monotonic
from typing import Any

from holter.server.ingest_http.compression import TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError

_GRACE_SECONDS = 1.0
_SLOW_BYTES_PER_SECOND = 128 * 1024
"""A body that arrives slower than this after the grace period makes room for others when there is none."""
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ClientDisconnectedError(Exception):
    """The client disconnected before the end of the body."""


class BodyTimeoutError(Exception):
    """A body takes too long to arrive."""


class _Arrival:
    """A body that is being read from one sender."""

    def __init__(self, sender: str, now: float) -> None:
        self.sender = sender
        self.size = 0
        self._begun = self._last = now
        self.timeout: asyncio.Timeout | None = None
        self.gave_way = False

    def add(self, size: int, now: float) -> None:
        """Count received bytes."""
        self.size += size
        self._last = now

    def is_slow(self, now: float) -> bool:
        """Whether it has stalled, or arrives slowly on average."""
        age = now - self._begun
        stalled = now - self._last > _GRACE_SECONDS
        return stalled or (age > _GRACE_SECONDS and self.size < _SLOW_BYTES_PER_SECOND * age)

    def drop(self) -> int:
        """End reading as if it had timed out; returns the bytes that this frees."""
        freed, self.size, self.gave_way = self.size, 0, True
        assert self.timeout is not None
        self.timeout.reschedule(asyncio.get_running_loop().time())
        return freed


class ArrivingBodies:
    """The bodies that are being read, at most `max_bytes` of memory together; used in the event loop only.

    When there is no room, a slow body of the sender that occupies most makes room; where no body is slow, the
    new one is refused. A complete body is no longer counted here.
    """

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._arrivals: set[_Arrival] = set()
        self.used = 0

    async def read(self, receive: Receive, sender: str, *, limit: int, seconds: float) -> bytes:
        """Read one body of at most `limit` bytes; most arrive in one piece at once.

        The rest must arrive within `seconds` of the first piece, for which the connection has its own
        time-out. Raises TooLargeError, MemoryBudgetError, BodyTimeoutError, ClientDisconnectedError.
        """
        arrival = _Arrival(sender, self._clock())
        self._arrivals.add(arrival)
        try:
            first, more = await self._next_piece(receive, arrival, limit)
            if not more:
                return first
            async with asyncio.timeout(seconds) as arrival.timeout:
                return await self._read_rest(first, receive, arrival, limit)
        except TimeoutError:
            if arrival.gave_way:
                raise BodyTimeoutError("the body arrives too slowly while others wait for memory") from None
            raise BodyTimeoutError(f"the body did not arrive within {seconds:g} s") from None
        finally:
            self.used -= arrival.size
            self._arrivals.discard(arrival)

    async def _read_rest(self, first: bytes, receive: Receive, arrival: _Arrival, limit: int) -> bytes:
        body, more = bytearray(first), True
        while more:
            piece, more = await self._next_piece(receive, arrival, limit)
            body += piece  # many small pieces would take more memory than one
        return bytes(body)

    async def _next_piece(self, receive: Receive, arrival: _Arrival, limit: int) -> tuple[bytes, bool]:
        """The next piece, and whether there are more."""
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnectedError
        piece: bytes = message.get("body", b"")
        if arrival.size + len(piece) > limit:
            raise TooLargeError(limit)
        if arrival.gave_way:
            raise TimeoutError
        self._take(arrival, len(piece))
        return piece, message.get("more_body", False)

    def _take(self, arrival: _Arrival, size: int) -> None:
        now = self._clock()
        while self.used and self.used + size > self._max_bytes:
            slow = [
                each for each in self._arrivals if each is not arrival and each.size and each.is_slow(now)
            ]
            if not slow:
                raise MemoryBudgetError(f"{self.used:,} bytes of points are being received already")
            self.used -= self._largest_sender(slow).drop()
        self.used += size
        arrival.add(size, now)

    def _largest_sender(self, slow: list[_Arrival]) -> _Arrival:
        """The largest slow body of the sender that occupies most of those with slow ones."""
        occupied: dict[str, int] = {}
        for each in self._arrivals:
            occupied[each.sender] = occupied.get(each.sender, 0) + each.size
        return max(slow, key=lambda each: (occupied[each.sender], each.size))
