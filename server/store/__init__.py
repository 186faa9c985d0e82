"""The store of points: an append-only log of batches, compacted into chunks, read together."""

from holter.server.store.errors import (
    CorruptDataError,
    RateError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreLockedError,
)
from holter.server.store.store import Store
from holter.server.store.values import (
    AttemptSummary,
    Band,
    ChartSeries,
    Commit,
    Receipt,
    Refusal,
    Segment,
    SeriesSummary,
)

__all__ = [
    "AttemptSummary",
    "Band",
    "ChartSeries",
    "Commit",
    "CorruptDataError",
    "RateError",
    "Receipt",
    "Refusal",
    "Segment",
    "SeriesSummary",
    "Store",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreLockedError",
]
