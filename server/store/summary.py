"""The summary of a run: its series in numbers as compaction left them, and what counts its exchanges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from holter.server.models import Summary
from holter.server.store.block import Points
from holter.server.store.errors import CorruptDataError, StoreError
from holter.server.store.numbers import NOTHING, Numbers, combine, decode, encode, of_block
from holter.server.store.snapshot import ChunkRow, Snapshot


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Stored:
    """The series of a run in numbers: those of its chunks, and those of its log up to an entry.

    No step of a series and attempt is in both. `generation` counts the exchanges of chunks or log rows by
    which they came about: while it and the run's revision stay, so does everything that can be read.
    """

    generation: int = 0
    entry: int = 0
    chunks: Numbers = NOTHING
    log: Numbers = NOTHING


def load(snapshot: Snapshot) -> Stored:
    """The summary of a run as stored. Raises CorruptDataError."""
    columns = (Summary.generation, Summary.entry, Summary.chunks, Summary.log)
    query = select(Summary.run_id, *columns).where(Summary.run_id == snapshot.run_id)
    row = snapshot.connection.execute(query).one_or_none()
    return Stored() if row is None else stored_of(row)


def stored_of(row: Any) -> Stored:
    """The summary that a row of its table holds. Raises CorruptDataError."""
    try:
        chunks, log = decode(row.chunks), decode(row.log)
    except CorruptDataError as error:
        raise CorruptDataError(f"run {row.run_id}, series in numbers: {error}") from error
    return Stored(generation=row.generation, entry=row.entry, chunks=chunks, log=log)


def claim(connection: Connection, run_id: int, generation: int) -> None:
    """Begin an exchange that was prepared as of a generation: first of all in its transaction.

    Raises StoreError if there was another exchange since.
    """
    if generation:
        same = update(Summary).where(Summary.run_id == run_id, Summary.generation == generation)
        done = connection.execute(same.values(generation=generation + 1)).rowcount
    else:
        empty = {"generation": 1, "entry": 0, "chunks": encode(NOTHING), "log": encode(NOTHING)}
        try:
            done = connection.execute(insert(Summary).values(run_id=run_id, **empty)).rowcount
        except IntegrityError:
            done = 0
    if not done:
        raise StoreError(f"the chunks of run {run_id} were exchanged by somebody else meanwhile")


def save(connection: Connection, run_id: int, stored: Stored) -> None:
    """End an exchange: what the run's series are in numbers now."""
    values = {"entry": stored.entry, "chunks": encode(stored.chunks), "log": encode(stored.log)}
    connection.execute(update(Summary).where(Summary.run_id == run_id).values(values))


def renew(connection: Connection, run_id: int) -> None:
    """Work the summary out anew from chunks and log: the whole of an exchange for whoever changed them.

    To be called in the transaction that has changed them, after that.
    """
    snapshot = Snapshot(connection, run_id)
    stored = load(snapshot)
    claim(connection, run_id, stored.generation)
    numbers = of_chunks(snapshot, snapshot.chunks())
    log = snapshot.log(until=stored.entry)
    parts = [of_block(attempt, block) for attempt, block in log.items()]
    save(connection, run_id, replace(stored, chunks=numbers, log=combine(parts)))


def of_chunks(snapshot: Snapshot, rows: Collection[ChunkRow]) -> Numbers:
    """Series in numbers, of all of their chunks."""
    newest = {row.series_id: row for row in sorted(rows, key=attrgetter("attempt", "step_max"))}
    if not newest:
        return NOTHING
    points = snapshot.points(list(newest.values()))
    last = [(number, row.attempt, *_last(points[row.id])) for number, row in sorted(newest.items())]
    ids, attempt, step = (np.array(column, dtype=np.int64) for column in list(zip(*last, strict=True))[:3])
    time, value = (np.array(column) for column in list(zip(*last, strict=True))[3:])
    none, real = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids))
    return recount(Numbers(ids, attempt, step, time, value, none, none, none, none, real, real), rows)


def _last(points: Points) -> tuple[int, float, float]:
    return int(points.step[-1]), float(points.time[-1]), float(points.value[-1])


def recount(numbers: Numbers, rows: Collection[ChunkRow]) -> Numbers:
    """The same series, but for those that have all of their chunks in `rows` with the sums of these."""
    ordered = sorted(rows, key=attrgetter("series_id"))
    changed = Numbers._make(column.copy() for column in numbers)
    for number, held in groupby(ordered, key=attrgetter("series_id")):
        at = int(np.searchsorted(numbers.ids, number))
        for column, amount in zip(changed[5:], _sums(list(held)), strict=True):
            column[at] = amount
    return changed


def _sums(rows: Sequence[ChunkRow]) -> tuple[int, int, int, int, float, float]:
    low = min((row.value_min for row in rows if row.value_min is not None), default=np.inf)
    high = max((row.value_max for row in rows if row.value_max is not None), default=-np.inf)
    points, logged = sum(row.points for row in rows), sum(row.logged for row in rows)
    return points, logged, sum(row.nonfinite for row in rows), min(row.step_min for row in rows), low, high
