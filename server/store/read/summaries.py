"""Summaries of runs: attempts and series."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from holter.server.models import Attempt
from holter.server.store.cache import LruCache
from holter.server.store.read.series import read_series
from holter.server.store.read.snapshot import RunSnapshot, StepRange
from holter.server.store.read.stats_cache import RunStats, load_run_stats
from holter.server.store.types import (
    AttemptSummary,
    RunOverview,
    SeriesOverview,
    SeriesRange,
    SeriesSummary,
)
from holter.types import FloatArray, Series, SeriesKey

_SERIES_BYTES = 500  # approximate memory of one series
_MAX_PARAMETERS = 500  # run ids in one statement


def read_attempts(connection: Connection, run_id: int) -> list[AttemptSummary]:
    """Return the run's attempts by number."""
    columns = [getattr(Attempt, name) for name in AttemptSummary.__slots__]
    query = select(*columns).where(Attempt.run_id == run_id).order_by(Attempt.number)
    return [AttemptSummary(**row._mapping) for row in connection.execute(query)]


def read_series_summaries(snapshot: RunSnapshot, cache: LruCache) -> list[SeriesSummary]:
    """Return every series of the run, in key order."""
    cached = cache.get(("series", snapshot.run_id))
    if cached is not None and cached[0] == snapshot.version:
        result: list[SeriesSummary] = cached[1]
        return result
    stats = _run_stats(snapshot, cache)
    summaries = _series_summaries(stats)
    recounted = _recounted(snapshot, stats)
    result = [
        _with_recount(summaries[series_id], recounted[key]) if key in recounted else summaries[series_id]
        for series_id, key in stats.names.items()
        if series_id in summaries
    ]
    cache.put(("series", snapshot.run_id), (snapshot.version, result), _SERIES_BYTES * len(result))
    return result


def read_run_overviews(
    connection: Connection, run_ids: Collection[int], cache: LruCache
) -> dict[int, RunOverview]:
    """Return overviews of runs, in a constant number of statements."""
    attempts: dict[int, list[AttemptSummary]] = {}
    names = AttemptSummary.__slots__
    columns = [getattr(Attempt, name) for name in names]
    ordered = sorted(run_ids)
    for start in range(0, len(ordered), _MAX_PARAMETERS):
        query = select(Attempt.run_id, *columns).order_by(Attempt.run_id, Attempt.number)
        for row in connection.execute(
            query.where(Attempt.run_id.in_(ordered[start : start + _MAX_PARAMETERS]))
        ):
            attempts.setdefault(row.run_id, []).append(
                AttemptSummary(**dict(zip(names, row[1:], strict=True)))
            )
    return {
        run_id: RunOverview(
            version=stats.version,
            attempts=attempts.get(run_id, []),
            series=_series_overviews(stats, recounted),
        )
        for run_id, stats in load_run_stats(connection, ordered, cache).items()
        for recounted in [_recounted(RunSnapshot(connection, run_id, cache), stats)]
    }


def read_series_ranges(
    connection: Connection, run_ids: Collection[int], cache: LruCache
) -> dict[int, list[SeriesRange]]:
    """Return newest value and extremes of all series of runs, in key order, in a constant number of
    statements.
    """
    ranges = {}
    for run_id, run_stats in load_run_stats(connection, run_ids, cache).items():
        stats = run_stats.stats
        columns = (stats.value.tolist(), stats.low.tolist(), stats.high.tolist())
        rows = dict(zip(stats.ids.tolist(), zip(*columns, strict=True), strict=True))
        names = run_stats.names.items()
        ranges[run_id] = [SeriesRange(key, *rows[number]) for number, key in names if number in rows]
    return ranges


def _series_overviews(run_stats: RunStats, recounted: Mapping[SeriesKey, Series]) -> list[SeriesOverview]:
    stats = run_stats.stats
    columns = (stats.points.tolist(), stats.step.tolist(), stats.value.tolist())
    rows = dict(zip(stats.ids.tolist(), zip(*columns, strict=True), strict=True))
    overviews = [
        SeriesOverview(key, *rows[series_id])
        for series_id, key in run_stats.names.items()
        if series_id in rows
    ]
    return [
        overview._replace(points=len(recounted[overview.key])) if overview.key in recounted else overview
        for overview in overviews
    ]


def _run_stats(snapshot: RunSnapshot, cache: LruCache) -> RunStats:
    return load_run_stats(snapshot.connection, [snapshot.run_id], cache).get(snapshot.run_id) or RunStats(
        names={}
    )


def _recounted(snapshot: RunSnapshot, stats: RunStats) -> dict[SeriesKey, Series]:
    """Read the series of which a point may have been delivered twice, since their counts may be too high."""
    doubtful = [stats.names[series_id] for series_id in stats.doubtful]
    return read_series(snapshot, doubtful, StepRange()) if doubtful else {}


def _series_summaries(run_stats: RunStats) -> dict[int, SeriesSummary]:
    stats = run_stats.stats
    no_extremes = stats.low > stats.high
    columns = (
        stats.points.tolist(),
        stats.logged.tolist(),
        stats.first.tolist(),
        stats.step.tolist(),
        _or_none(stats.time, np.isnan(stats.time)),
        stats.value.tolist(),
        _or_none(stats.low, no_extremes),
        _or_none(stats.high, no_extremes),
        stats.nonfinite.tolist(),
    )
    ids = stats.ids.tolist()
    keys = [run_stats.names[series_id] for series_id in ids]
    rows = zip(keys, *columns, strict=True)
    return dict(zip(ids, map(SeriesSummary._make, rows), strict=True))


def _or_none(values: FloatArray, absent: NDArray[np.bool_]) -> list[float | None]:
    result: list[float | None] = values.tolist()
    for index in np.flatnonzero(absent).tolist():
        result[index] = None
    return result


def _with_recount(summary: SeriesSummary, series: Series) -> SeriesSummary:
    finite = series.value[np.isfinite(series.value)]
    removed = summary.logged - summary.points
    return summary._replace(
        points=len(series),
        logged=len(series) + removed,
        minimum=float(finite.min()) if len(finite) else None,
        maximum=float(finite.max()) if len(finite) else None,
        nonfinite=len(series) - len(finite),
    )
