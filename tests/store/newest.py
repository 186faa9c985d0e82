"""The newest points of a run by the keys of their series."""

from __future__ import annotations

from holter.server.store import Store
from holter.types import SeriesKey


def newest(store: Store, run_id: int) -> dict[SeriesKey, tuple[int, int, float, float]]:
    """Attempt, step, wall time (NaN without a clock) and value of each series' newest point."""
    names, *columns = store.newest_points(run_id)
    points = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(names.keys(), points, strict=True))
