"""The store of points: an append-only log of batches, compacted into chunks; queries read both together."""

from holter.server.store.errors import (
    CorruptDataError,
    RateLimitError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreLockedError,
)
from holter.server.store.read.memory import ReadMemory
from holter.server.store.store import Store
from holter.server.store.types import (
    AttemptSummary,
    Commit,
    CurveBand,
    CurveSegment,
    Receipt,
    ReducedSeries,
    RunOverview,
    SeriesOverview,
    SeriesRange,
    SeriesRefusal,
    SeriesSummary,
)

__all__ = [
    "AttemptSummary",
    "Commit",
    "CorruptDataError",
    "CurveBand",
    "CurveSegment",
    "RateLimitError",
    "ReadMemory",
    "Receipt",
    "ReducedSeries",
    "RunOverview",
    "SeriesOverview",
    "SeriesRange",
    "SeriesRefusal",
    "SeriesSummary",
    "Store",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreLockedError",
]
