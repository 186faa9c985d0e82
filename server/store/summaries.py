"""Runs in numbers: their series, their attempts, their newest points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from holter.server.models import Attempt
from holter.server.store.known import Known, know
from holter.server.store.memory import Memory
from holter.server.store.reading import read
from holter.server.store.snapshot import Snapshot, Steps
from holter.server.store.values import AttemptSummary, SeriesSummary
from holter.types import FloatArray, Series, SeriesKey

Latest = Mapping[SeriesKey, tuple[int, int, float, float]]

_BYTES = 500  # of a series in an answer


def attempts(connection: Connection, run_id: int) -> list[AttemptSummary]:
    """The run's attempts by number."""
    columns = [getattr(Attempt, name) for name in AttemptSummary.__slots__]
    query = select(*columns).where(Attempt.run_id == run_id).order_by(Attempt.number)
    return [AttemptSummary(**row._mapping) for row in connection.execute(query)]


def latest(snapshot: Snapshot, memory: Memory) -> Latest:
    """Attempt, step, time and value of the newest point of each series of the run."""
    held = memory.get(("latest", snapshot.run_id))
    if held is not None and held[0] == snapshot.version:
        found: Latest = held[1]
        return found
    known = know(snapshot, memory)
    columns = (column.tolist() for column in known.numbers[1:5])
    newest = dict(zip(known.numbers.ids.tolist(), zip(*columns, strict=True), strict=True))
    found = {key: newest[number] for number, key in known.names.items() if number in newest}
    memory.put(("latest", snapshot.run_id), (snapshot.version, found), _BYTES * len(found))
    return found


def series(snapshot: Snapshot, memory: Memory) -> list[SeriesSummary]:
    """Every series of the run, in the order of their keys."""
    held = memory.get(("series", snapshot.run_id))
    if held is not None and held[0] == snapshot.version:
        found: list[SeriesSummary] = held[1]
        return found
    known = know(snapshot, memory)
    summaries = _summaries(known)
    # where a step was written twice, a sum would count it twice: there only the points themselves tell
    exact = (
        read(snapshot, [known.names[number] for number in known.doubtful], Steps()) if known.doubtful else {}
    )
    found = [
        _exact(summaries[number], exact[key]) if key in exact else summaries[number]
        for number, key in known.names.items()
        if number in summaries
    ]
    memory.put(("series", snapshot.run_id), (snapshot.version, found), _BYTES * len(found))
    return found


def _summaries(known: Known) -> dict[int, SeriesSummary]:
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
