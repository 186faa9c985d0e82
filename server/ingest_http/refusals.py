"""What the errors of taking a request in mean over HTTP, for protocols that word their answers themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holter.server.ingest_http.arriving_bodies import BodyTimeoutError, ClientDisconnectedError
from holter.server.ingest_http.compression import TooLargeError
from holter.server.ingest_http.memory_budget import MemoryBudgetError
from holter.server.store import RateLimitError, StoreBusyError, StoreClosedError

_BUSY = (StoreBusyError, StoreClosedError, MemoryBudgetError, TimeoutError)
_INCOMPLETE = (BodyTimeoutError, ClientDisconnectedError)
REFUSED_ERRORS = (RateLimitError, *_BUSY, *_INCOMPLETE, ValueError)
"""The errors that `refusal_of` knows. A ValueError is one of the protocol, or a limit of the store, such as
those of labels and names."""


class Refusal(NamedTuple):
    """The status of an answer, its text, and its headers."""

    status: int
    message: str
    headers: Mapping[str, str]


def refusal_of(error: Exception, *, retry_seconds: int = 5, least_wait: int = 1) -> Refusal:
    """How to refuse a request that failed with one of `REFUSED_ERRORS`.

    What may succeed later is 429 or 503, with the seconds to wait: what a quota states, `least_wait` at
    least, or `retry_seconds`. What fails again however often it is sent is 400 or 413.
    """
    if isinstance(error, RateLimitError):
        return Refusal(429, str(error), {"Retry-After": str(max(least_wait, int(error.seconds) + 1))})
    if isinstance(error, _BUSY):
        return Refusal(503, str(error), {"Retry-After": str(retry_seconds)})
    if isinstance(error, _INCOMPLETE):
        return Refusal(408, str(error), {"Connection": "close"})
    return Refusal(413 if isinstance(error, TooLargeError) else 400, str(error), {})
