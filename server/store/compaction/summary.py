"""The summary of a run: its series in numbers as compaction left them, and what counts its exchanges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from holter.server.models import Summary
from holter.server.store.encoding.block import Points
from holter.server.store.encoding.series_names import NOBODY, Names, decode_names, encode_names
from holter.server.store.encoding.series_stats import NOTHING, Numbers, combine, decode, encode, of_block
from holter.server.store.errors import CorruptDataError, ExchangedError
from holter.server.store.read.snapshot import ChunkRow, Snapshot
from holter.server.store.read.stats_cache import named


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Stored:
    """The series of a run in numbers: those of its chunks, and those of its log up to an entry; their names.

    No step of a series and attempt is in both. `generation` counts the exchanges of chunks or log rows by
    which they came about: while it and the run's revision stay, so does everything that can be read.
    """

    generation: int = 0
    entry: int = 0
    chunks: Numbers = NOTHING
    log: Numbers = NOTHING
    names: Names = NOBODY


def load(snapshot: Snapshot) -> Stored:
    """The summary of a run as stored. Raises CorruptDataError."""
    query = select(Summary).where(Summary.run_id == snapshot.run_id)
    row = snapshot.connection.execute(query).one_or_none()
    if row is None:
        return Stored()
    chunks, log = (
        snapshot.decoded(decode, blob, "series in numbers".format) for blob in (row.chunks, row.log)
    )
    names = NOBODY
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "names of series".format)
    return Stored(generation=row.generation, entry=row.entry, chunks=chunks, log=log, names=names)


def names_of(snapshot: Snapshot, stored: Stored, *more: Numbers) -> Names:
    """The names of all series that a summary has, and more numbers; those of before where one is damaged.

    What people wrote goes on with a name that cannot be read: whoever asks for it is told.
    """
    ids = np.unique(np.concatenate([one.ids for one in (stored.chunks, stored.log, *more)]))
    with suppress(CorruptDataError):
        return named(snapshot.connection, snapshot.run_id, stored.names, ids)
    return stored.names


def claim(connection: Connection, run_id: int, generation: int) -> None:
    """Begin an exchange that was prepared as of a generation: first of all in its transaction.

    Raises ExchangedError if there was another exchange since.
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
        raise ExchangedError(f"the chunks of run {run_id} were exchanged by somebody else meanwhile")


def save(connection: Connection, run_id: int, stored: Stored) -> None:
    """End an exchange: what the run's series are in numbers now."""
    values = {
        "entry": stored.entry,
        "chunks": encode(stored.chunks),
        "log": encode(stored.log),
        "names": encode_names(stored.names),
    }
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
    renewed = replace(stored, chunks=numbers, log=combine(parts))
    save(connection, run_id, replace(renewed, names=names_of(snapshot, renewed)))


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
