"""Errors that the store raises."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not complete an operation; `status` is the HTTP status of the answer."""

    status = 500


class StoreBusyError(StoreError):
    """Deliveries arrive faster than they can be made durable: retry in a moment."""

    status = 503


class RateLimitError(StoreError):
    """A project sends more points a second than its quota allows; retry after `seconds`."""

    status = 429

    def __init__(self, project: str, rate: float, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"project {project!r} sends more than the {rate:,g} points a second that "
            f"max_points_per_second allows; come back in {seconds:.1f} s"
        )


class StoreClosedError(StoreError):
    """The store is not running."""

    status = 503


class StoreLockedError(StoreError):
    """Another server uses the database file; `address` is its address, if it listens."""

    def __init__(self, reason: str, *, address: str = "") -> None:
        super().__init__(reason)
        self.address = address


class ConcurrentRewriteError(StoreError):
    """Chunks or log rows were rewritten since they were read: read again and retry."""


class CorruptDataError(StoreError):
    """Stored bytes differ from what was written; nothing is substituted for them."""
