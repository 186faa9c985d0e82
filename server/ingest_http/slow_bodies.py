"""Remembers bodies that took too long to decode, so that a sender that repeats them costs nothing more."""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b

DECODE_SECONDS = 5.0
"""Processor time for decompressing, decoding and encoding one body; the limits of a body need a second."""
_MAX_REMEMBERED = 1000


class SlowBodies:
    """The digests of the last bodies that were too slow. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: OrderedDict[bytes, str] = OrderedDict()

    def add(self, body: bytes, reason: str) -> None:
        """Remember a body as it arrived, and why it is refused."""
        with self._lock:
            self._reasons[_digest(body)] = reason
            if len(self._reasons) > _MAX_REMEMBERED:
                self._reasons.popitem(last=False)

    def reason(self, body: bytes) -> str | None:
        """Why a body is refused, None if it is not known."""
        if not self._reasons:  # nearly always: no digest is computed
            return None
        digest = _digest(body)
        with self._lock:
            return self._reasons.get(digest)


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()
