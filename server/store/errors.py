"""What can go wrong in the store."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""

    status = 500


class StoreBusyError(StoreError):
    """Deliveries come in faster than they can be made durable: try again in a moment."""

    status = 503


class StoreClosedError(StoreError):
    """The store is not running."""

    status = 503


class StoreLockedError(StoreError):
    """Another server is using the database file."""


class CorruptDataError(StoreError):
    """Stored bytes are not what was written: nothing is made up in their place."""
