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

from holter.server.models import SummaryRow
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.series_names import NO_NAMES, SeriesNames, decode_names, encode_names
from holter.server.store.encoding.series_stats import (
    NO_STATS,
    SeriesStats,
    combine_stats,
    decode_stats,
    encode_stats,
    stats_of_block,
)
from holter.server.store.errors import ConcurrentRewriteError, CorruptDataError
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot
from holter.server.store.read.stats_cache import complete_names


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class StoredSummary:
    """The series of a run in numbers: those of its chunks, and those of its log up to an entry; their names.

    No step of a series and attempt is in both. `generation` counts the exchanges of chunks or log rows by
    which they came about: while it and the run's revision stay, so does everything that can be read.
    """

    generation: int = 0
    entry: int = 0
    chunks: SeriesStats = NO_STATS
    log: SeriesStats = NO_STATS
    names: SeriesNames = NO_NAMES


def load_summary(snapshot: RunSnapshot) -> StoredSummary:
    """The summary of a run as stored. Raises CorruptDataError."""
    query = select(SummaryRow).where(SummaryRow.run_id == snapshot.run_id)
    row = snapshot.connection.execute(query).one_or_none()
    if row is None:
        return StoredSummary()
    chunks, log = (
        snapshot.decoded(decode_stats, blob, "series in numbers".format) for blob in (row.chunks, row.log)
    )
    names = NO_NAMES
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "names of series".format)
    return StoredSummary(generation=row.generation, entry=row.entry, chunks=chunks, log=log, names=names)


def summary_names(snapshot: RunSnapshot, stored: StoredSummary, *more: SeriesStats) -> SeriesNames:
    """The names of all series that a summary has, and more numbers; those of before where one is damaged.

    What people wrote goes on with a name that cannot be read: whoever asks for it is told.
    """
    ids = np.unique(np.concatenate([one.ids for one in (stored.chunks, stored.log, *more)]))
    with suppress(CorruptDataError):
        return complete_names(snapshot.connection, snapshot.run_id, stored.names, ids)
    return stored.names


def begin_rewrite(connection: Connection, run_id: int, generation: int) -> None:
    """Begin an exchange that was prepared as of a generation: first of all in its transaction.

    Raises ExchangedError if there was another exchange since.
    """
    if generation:
        same = update(SummaryRow).where(SummaryRow.run_id == run_id, SummaryRow.generation == generation)
        done = connection.execute(same.values(generation=generation + 1)).rowcount
    else:
        empty = {"generation": 1, "entry": 0, "chunks": encode_stats(NO_STATS), "log": encode_stats(NO_STATS)}
        try:
            done = connection.execute(insert(SummaryRow).values(run_id=run_id, **empty)).rowcount
        except IntegrityError:
            done = 0
    if not done:
        raise ConcurrentRewriteError(f"the chunks of run {run_id} were exchanged by somebody else meanwhile")


def save_summary(connection: Connection, run_id: int, stored: StoredSummary) -> None:
    """End an exchange: what the run's series are in numbers now."""
    values = {
        "entry": stored.entry,
        "chunks": encode_stats(stored.chunks),
        "log": encode_stats(stored.log),
        "names": encode_names(stored.names),
    }
    connection.execute(update(SummaryRow).where(SummaryRow.run_id == run_id).values(values))


def rebuild_summary(connection: Connection, run_id: int) -> None:
    """Work the summary out anew from chunks and log: the whole of an exchange for whoever changed them.

    To be called in the transaction that has changed them, after that.
    """
    snapshot = RunSnapshot(connection, run_id)
    stored = load_summary(snapshot)
    begin_rewrite(connection, run_id, stored.generation)
    numbers = stats_of_chunks(snapshot, snapshot.chunks())
    log = snapshot.log(until=stored.entry)
    parts = [stats_of_block(attempt, block) for attempt, block in log.items()]
    renewed = replace(stored, chunks=numbers, log=combine_stats(parts))
    save_summary(connection, run_id, replace(renewed, names=summary_names(snapshot, renewed)))


def stats_of_chunks(snapshot: RunSnapshot, rows: Collection[ChunkRow]) -> SeriesStats:
    """Series in numbers, of all of their chunks."""
    newest = {row.series_id: row for row in sorted(rows, key=attrgetter("attempt", "step_max"))}
    if not newest:
        return NO_STATS
    points = snapshot.points(list(newest.values()))
    last = [(number, row.attempt, *_last(points[row.id])) for number, row in sorted(newest.items())]
    ids, attempt, step = (np.array(column, dtype=np.int64) for column in list(zip(*last, strict=True))[:3])
    time, value = (np.array(column) for column in list(zip(*last, strict=True))[3:])
    none, real = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids))
    return recount_stats(
        SeriesStats(ids, attempt, step, time, value, none, none, none, none, real, real), rows
    )


def _last(points: SeriesPoints) -> tuple[int, float, float]:
    return int(points.step[-1]), float(points.time[-1]), float(points.value[-1])


def recount_stats(numbers: SeriesStats, rows: Collection[ChunkRow]) -> SeriesStats:
    """The same series, but for those that have all of their chunks in `rows` with the sums of these."""
    ordered = sorted(rows, key=attrgetter("series_id"))
    changed = SeriesStats._make(column.copy() for column in numbers)
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
