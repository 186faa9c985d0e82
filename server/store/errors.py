"""What can go wrong in the store."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""

    status = 500


class StoreBusyError(StoreError):
    """Deliveries come in faster than they can be made durable: try again in a moment."""

    status = 503


class RateError(StoreError):
    """A project sends more points a second than its quota allows. `seconds`: come back after so many."""

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
    """Another server is using the database file; `address`: where it can be asked, if it listens."""

    def __init__(self, reason: str, *, address: str = "") -> None:
        super().__init__(reason)
        self.address = address


class ExchangedError(StoreError):
    """Somebody else has exchanged chunks or log rows since they were looked at: look again."""


class CorruptDataError(StoreError):
    """Stored bytes are not what was written: nothing is made up in their place."""
