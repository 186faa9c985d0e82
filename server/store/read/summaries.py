"""Runs in numbers: their series, their attempts."""

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
from holter.server.store.types import AttemptSummary, RunOverview, SeriesOverview, SeriesSummary
from holter.types import FloatArray, Series, SeriesKey

_BYTES = 500  # of a series in an answer
_AT_ONCE = 500  # runs in one statement


def read_attempts(connection: Connection, run_id: int) -> list[AttemptSummary]:
    """The run's attempts by number."""
    columns = [getattr(Attempt, name) for name in AttemptSummary.__slots__]
    query = select(*columns).where(Attempt.run_id == run_id).order_by(Attempt.number)
    return [AttemptSummary(**row._mapping) for row in connection.execute(query)]


def read_series_summaries(snapshot: RunSnapshot, memory: LruCache) -> list[SeriesSummary]:
    """Every series of the run, in the order of their keys."""
    held = memory.get(("series", snapshot.run_id))
    if held is not None and held[0] == snapshot.version:
        found: list[SeriesSummary] = held[1]
        return found
    known = _known(snapshot, memory)
    summaries = _summaries(known)
    exact = _recounted(snapshot, known)
    found = [
        _exact(summaries[number], exact[key]) if key in exact else summaries[number]
        for number, key in known.names.items()
        if number in summaries
    ]
    memory.put(("series", snapshot.run_id), (snapshot.version, found), _BYTES * len(found))
    return found


def read_run_overviews(
    connection: Connection, run_ids: Collection[int], memory: LruCache
) -> dict[int, RunOverview]:
    """Runs at a glance, in as many statements for many as for one."""
    spans: dict[int, list[AttemptSummary]] = {}
    names = AttemptSummary.__slots__
    columns = [getattr(Attempt, name) for name in names]
    held = sorted(run_ids)
    for start in range(0, len(held), _AT_ONCE):
        query = select(Attempt.run_id, *columns).order_by(Attempt.run_id, Attempt.number)
        for row in connection.execute(query.where(Attempt.run_id.in_(held[start : start + _AT_ONCE]))):
            spans.setdefault(row.run_id, []).append(AttemptSummary(**dict(zip(names, row[1:], strict=True))))
    return {
        number: RunOverview(
            version=known.version, attempts=spans.get(number, []), series=_glanced(known, exact)
        )
        for number, known in load_run_stats(connection, held, memory).items()
        for exact in [_recounted(RunSnapshot(connection, number, memory), known)]
    }


def _glanced(known: RunStats, exact: Mapping[SeriesKey, Series]) -> list[SeriesOverview]:
    numbers = known.numbers
    columns = (numbers.points.tolist(), numbers.step.tolist(), numbers.value.tolist())
    rows = dict(zip(numbers.ids.tolist(), zip(*columns, strict=True), strict=True))
    found = [SeriesOverview(key, *rows[number]) for number, key in known.names.items() if number in rows]
    return [one._replace(points=len(exact[one.key])) if one.key in exact else one for one in found]


def _known(snapshot: RunSnapshot, memory: LruCache) -> RunStats:
    return load_run_stats(snapshot.connection, [snapshot.run_id], memory).get(snapshot.run_id) or RunStats(
        names={}
    )


def _recounted(snapshot: RunSnapshot, known: RunStats) -> dict[SeriesKey, Series]:
    """The points of series of which a step was written twice: a sum would count it twice."""
    doubtful = [known.names[number] for number in known.doubtful]
    return read_series(snapshot, doubtful, StepRange()) if doubtful else {}


def _summaries(known: RunStats) -> dict[int, SeriesSummary]:
    numbers = known.numbers
    none = numbers.low > numbers.high
    columns = (
        numbers.points.tolist(),
        numbers.logged.tolist(),
        numbers.first.tolist(),
        numbers.step.tolist(),
        _or_none(numbers.time, np.isnan(numbers.time)),
        numbers.value.tolist(),
        _or_none(numbers.low, none),
        _or_none(numbers.high, none),
        numbers.nonfinite.tolist(),
    )
    ids = numbers.ids.tolist()
    keys = [known.names[number] for number in ids]
    rows = zip(keys, *columns, strict=True)
    return dict(zip(ids, map(SeriesSummary._make, rows), strict=True))


def _or_none(values: FloatArray, absent: NDArray[np.bool_]) -> list[float | None]:
    found: list[float | None] = values.tolist()
    for at in np.flatnonzero(absent).tolist():
        found[at] = None
    return found


def _exact(summary: SeriesSummary, real: Series) -> SeriesSummary:
    finite = real.value[np.isfinite(real.value)]
    thinned = summary.logged - summary.points
    return summary._replace(
        points=len(real),
        logged=len(real) + thinned,
        minimum=float(finite.min()) if len(finite) else None,
        maximum=float(finite.max()) if len(finite) else None,
        nonfinite=len(real) - len(finite),
    )
