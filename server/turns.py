"""Turns of connections: what many of them send at once is handled bit by bit, with others in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

ROUND_PARTS = 4096
"""Parts of requests that are handled in one turn of the event loop before others wait: milliseconds."""


class TurnQueue:
    """Begins queued work one by one, in later turns of the event loop. Used in the event loop only.

    It also counts the parts of requests that were handled in the present turn, by all connections together:
    each may have little to do, and hundreds of them still delay everybody.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._parts = 0

    @property
    def exhausted(self) -> bool:
        """Whether enough was handled in the present turn of the event loop: what is left is to be queued."""
        return self._parts >= ROUND_PARTS

    def spend(self, parts: int) -> None:
        """Count parts that were handled."""
        if parts and not self._parts:
            asyncio.get_running_loop().call_soon(self._begin_round)
        self._parts += parts

    def add(self, begin: Callable[[], None]) -> None:
        """Begin some work in a later turn of the event loop, after what has waited longer."""
        self._waiting.append(begin)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._next)

    def _begin_round(self) -> None:
        self._parts = 0

    def _next(self) -> None:
        try:
            self._waiting[0]()
        finally:
            self._waiting.popleft()
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._next)
