"""Problems of a reader: locations it could not read, reported once each and in bounded number."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from holter.types import Unreadable

_log = logging.getLogger(__name__)

MAX_PER_BLOCK = 20
_MAX_MESSAGE = 200


def describe_error(error: BaseException) -> str:
    """The type and the beginning of the message of an unexpected error, for people."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "..."


class ProblemBuffer:
    """Problems of the block that was just read, reported after its batch; part of a reader's state."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._pending = [
            Unreadable(location=location, reason=reason) for location, reason in state.get("untold", ())
        ]
        self._dropped = 0
        self._last_location = ""

    def add(self, location: str, reason: str) -> None:
        """Add a problem; of those beyond `MAX_PER_BLOCK` only the number is retained."""
        self._last_location = location
        if len(self._pending) < MAX_PER_BLOCK:
            self._pending.append(Unreadable(location=location, reason=reason))
        else:
            self._dropped += 1

    def add_failure(self, location: str, expected: str, error: Exception) -> None:
        """Add an unexpected error in one record; its traceback goes to the log at level DEBUG."""
        _log.debug("%s: expected %s", location, expected, exc_info=error)
        self.add(location, f"expected {expected}: {describe_error(error)}")

    def drain(self) -> Iterator[Unreadable]:
        """Yield the pending problems and forget each."""
        if self._dropped:
            reason = f"{self._dropped} more places like these, up to here, could not be read"
            self._pending.append(Unreadable(location=self._last_location, reason=reason))
            self._dropped = 0
        while self._pending:
            yield self._pending.pop(0)

    def state(self) -> dict[str, Any]:
        """The pending problems as JSON-able values; empty if there are none."""
        if not self._pending:
            return {}
        return {"untold": [[problem.location, problem.reason] for problem in self._pending]}
