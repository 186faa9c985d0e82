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
from holter.server.store.types import (
    AttemptSummary,
    Band,
    ChartSeries,
    Commit,
    Glance,
    Receipt,
    Refusal,
    Segment,
    SeriesGlance,
    SeriesSummary,
)

__all__ = [
    "AttemptSummary",
    "Band",
    "ChartSeries",
    "Commit",
    "CorruptDataError",
    "Glance",
    "RateError",
    "Receipt",
    "Refusal",
    "Segment",
    "SeriesGlance",
    "SeriesSummary",
    "Store",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreLockedError",
]
