"""What could not be read, kept until it has been told: once each, and never without bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holter.types import Unreadable

MAX_PER_BLOCK = 20


class ProblemBuffer:
    """Problems of the block just read, told after its batch; they are part of a reader's state."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._waiting = [
            Unreadable(location=location, reason=reason) for location, reason in state.get("untold", ())
        ]
        self._more = 0
        self._last = ""

    def add(self, place: str, reason: str) -> None:
        """Remember a problem; beyond `TOLD_PER_BLOCK` only their number is kept."""
        self._last = place
        if len(self._waiting) < MAX_PER_BLOCK:
            self._waiting.append(Unreadable(location=place, reason=reason))
        else:
            self._more += 1

    def drain(self) -> Iterator[Unreadable]:
        """Yield what waits; what has been yielded is forgotten."""
        if self._more:
            reason = f"{self._more} more places like these, up to here, could not be read"
            self._waiting.append(Unreadable(location=self._last, reason=reason))
            self._more = 0
        while self._waiting:
            yield self._waiting.pop(0)

    def state(self) -> dict[str, Any]:
        """What is still to be told, as JSON-able values; empty when nothing is."""
        return {"untold": [[one.location, one.reason] for one in self._waiting]} if self._waiting else {}
