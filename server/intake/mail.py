"""Receipts on their way from the store's thread to the event loop: one wake-up for all that are there."""

from __future__ import annotations

import asyncio
from collections import deque

from holter.server.store import Receipt

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
