"""Runs in numbers: their series, their attempts, their newest points."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from holter.server.models import Attempt, Latest
from holter.server.store import latest as blobs
from holter.server.store.block import Block
from holter.server.store.latest import Newest, last_of, newest
from holter.server.store.progress import ranges
from holter.server.store.reading import read
from holter.server.store.snapshot import ChunkRow, Snapshot, Steps
from holter.server.store.values import AttemptSummary, SeriesSummary
from holter.types import FloatArray, IntArray, Series, SeriesKey


def attempts(connection: Connection, run_id: int) -> list[AttemptSummary]:
    """The run's attempts by number."""
    columns = [getattr(Attempt, name) for name in AttemptSummary.__slots__]
    query = select(*columns).where(Attempt.run_id == run_id).order_by(Attempt.number)
    return [AttemptSummary(**row._mapping) for row in connection.execute(query)]


def latest(connection: Connection, snapshot: Snapshot, log: dict[int, Block] | None = None) -> Newest:
    """The newest point of each series of the run."""
    log = snapshot.log() if log is None else log
    blob = connection.scalar(select(Latest.payload).where(Latest.run_id == snapshot.run_id))
    stored = blobs.NOTHING if blob is None else snapshot.decoded(blobs.decode, blob, lambda: "latest points")
    return newest([stored, *(last_of(attempt, block) for attempt, block in log.items())])


def series(connection: Connection, snapshot: Snapshot) -> list[SeriesSummary]:
    """Every series of the run, in the order of their keys."""
    names = snapshot.series()
    rows, log = snapshot.chunks(), snapshot.log()
    numbers = _Numbers(sorted(names))
    numbers.add_chunks(rows)
    for attempt, block in log.items():
        numbers.add_block(attempt, block)
    points = latest(connection, snapshot, log)
    last = {number: at for at, number in enumerate(points.ids.tolist())}
    # where writes overlap, a sum would count a step twice: there only the points themselves tell
    doubtful = [names[number] for number in numbers.overlapping()]
    exact = read(snapshot, doubtful, Steps()) if doubtful else {}
    sums = numbers.all()
    return [
        _summary(key, points, last[number], exact.get(key), sums[number])
        for number, key in names.items()
        if number in last
    ]


class _Sums(NamedTuple):
    points: int
    thinned: int
    nonfinite: int
    first_step: int
    low: float
    high: float


def _summary(
    key: SeriesKey,
    points: Newest,
    at: int,
    exact: Series | None,
    sums: _Sums,
) -> SeriesSummary:
    count, thinned, nonfinite, first_step, low, high = sums
    if exact is not None:
        finite = exact.value[np.isfinite(exact.value)]
        count, nonfinite = len(exact), len(exact) - len(finite)
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (np.inf, -np.inf)
    time = float(points.time[at])
    return SeriesSummary(
        key=key,
        points=count,
        logged=count + thinned,
        first_step=first_step,
        last_step=int(points.step[at]),
        last_time=None if isnan(time) else time,
        last_value=float(points.value[at]),
        minimum=low if low <= high else None,
        maximum=high if low <= high else None,
        nonfinite=nonfinite,
    )


class _Numbers:
    """Sums and extremes of series, arrays by their place among the ids."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = np.array(ids, dtype=np.int64)
        size = len(ids)
        self._count, self._thinned, self._nonfinite = np.zeros((3, size), dtype=np.int64)
        self._first = np.full(size, np.iinfo(np.int64).max)
        self._low, self._high = np.full(size, np.inf), np.full(size, -np.inf)
        self._pieces: list[IntArray] = []

    def add_chunks(self, rows: list[ChunkRow]) -> None:
        if not rows:
            return
        _, ids, attempt, first, last, count, logged, nonfinite, low, high, _ = zip(*rows, strict=True)
        lows = np.array([np.inf if value is None else value for value in low])
        highs = np.array([-np.inf if value is None else value for value in high])
        places = [np.array(column, dtype=np.int64) for column in (ids, attempt, first, last)]
        self._add(np.stack(places), np.array(count), np.array(nonfinite), lows, highs)
        np.add.at(self._thinned, np.searchsorted(self._ids, places[0]), np.array(logged) - np.array(count))

    def add_block(self, attempt: int, block: Block) -> None:
        first, last = ranges(block)
        starts, finite = block.offsets[:-1], np.isfinite(block.values)
        self._add(
            np.stack([block.ids, np.full(len(block.ids), attempt, dtype=np.int64), first, last]),
            block.counts,
            np.add.reduceat((~finite).astype(np.int64), starts),
            np.minimum.reduceat(np.where(finite, block.values, np.inf), starts),
            np.maximum.reduceat(np.where(finite, block.values, -np.inf), starts),
        )

    def _add(
        self, places: IntArray, count: IntArray, nonfinite: IntArray, low: FloatArray, high: FloatArray
    ) -> None:
        """Take in pieces of series; `places` [4, n] has their id, attempt, first and last step."""
        ids, _, first, _ = places
        at = np.searchsorted(self._ids, ids)
        np.add.at(self._count, at, count)
        np.add.at(self._nonfinite, at, nonfinite)
        np.minimum.at(self._first, at, first)
        np.minimum.at(self._low, at, low)
        np.maximum.at(self._high, at, high)
        self._pieces.append(places)

    def overlapping(self) -> list[int]:
        """The series of which pieces of one attempt reach into each other."""
        if not self._pieces:
            return []
        pieces = np.concatenate(self._pieces, axis=1)
        ids, attempt, first, last = pieces[:, np.lexsort((pieces[2], pieces[1], pieces[0]))]
        same = (ids[1:] == ids[:-1]) & (attempt[1:] == attempt[:-1])
        return sorted(set(ids[1:][same & (first[1:] <= last[:-1])].tolist()))

    def all(self) -> dict[int, _Sums]:
        """What was summed up, by the series' id."""
        counts = (self._count, self._thinned, self._nonfinite)
        columns = (self._ids, *counts, self._first, self._low, self._high)
        return {row[0]: _Sums(*row[1:]) for row in zip(*(column.tolist() for column in columns), strict=True)}
