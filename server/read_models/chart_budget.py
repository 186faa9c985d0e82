"""Limits the points of one answer with charts, divided fairly between its series."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from holter.server.store import ReducedSeries, Store
from holter.types import SeriesKey

MAX_ANSWER_POINTS = 500_000
"""Points and buckets in one answer: 40 MB of JSON."""
MIN_POINTS = 10
"""A series always gets this many."""


class LimitedChart(NamedTuple):
    """Reduced series, and the number of points that each of them may have."""

    series: Sequence[ReducedSeries]
    points: int


def read_limited_chart(
    store: Store,
    run_id: int,
    keys: Collection[SeriesKey],
    *,
    from_step: int | None,
    to_step: int | None,
    points: int,
    budget: int = MAX_ANSWER_POINTS,
) -> LimitedChart:
    """Read series reduced to `points` points each, or to fewer where all of them would exceed the budget.

    What short series do not need is left to long ones.
    """
    if len(keys) * points > budget:
        wanted = set(keys)
        counts = [series.points for series in store.series(run_id) if series.key in wanted]
        points = min(points, fair_share(counts, budget))
    while True:
        series = store.chart(run_id, keys, from_step=from_step, to_step=to_step, points=points)
        size = sum(map(_size, series))
        if size <= 2 * budget or points <= MIN_POINTS:  # a bucket has two extremes, and itself is returned
            return LimitedChart(series, points)
        # each attempt has buckets of its own: with many attempts there are more than points were asked for
        points = max(MIN_POINTS, min(points // 2, points * budget // size))


def fair_share(counts: Collection[int], budget: int) -> int:
    """The largest number of points per series of which all series together need at most `budget`.

    `counts` are the points that the series have: shorter ones than the share leave the rest to the others.
    """
    ordered = np.sort(np.fromiter(counts, dtype=np.int64, count=len(counts)))
    if not len(ordered) or ordered.sum() <= budget:
        return max(MIN_POINTS, int(ordered[-1]) if len(ordered) else budget)
    longer = np.arange(len(ordered), 0, -1)
    shares = (budget - (np.cumsum(ordered) - ordered)) // longer
    # the first series that is longer than its share of what the shorter ones leave
    return max(MIN_POINTS, int(shares[np.argmax(ordered > shares)]))


def _size(series: ReducedSeries) -> int:
    segments = sum(len(segment.step) for segment in series.segments)
    bands = sum(len(segment.band.step) for segment in series.segments if segment.band is not None)
    return segments + bands + len(series.nonfinite)
