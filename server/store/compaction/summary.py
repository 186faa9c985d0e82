"""The summary row of a run: statistics and names of its series as of the last compaction, and its
generation.
"""

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
    """Statistics of a run's series: of its chunks, and of its log up to `entry`; and their names.

    No step of a series and attempt is in both. `generation` counts the rewrites of chunks and log rows: while
    it and the run's revision are unchanged, so is everything that can be read.
    """

    generation: int = 0
    entry: int = 0
    chunks: SeriesStats = NO_STATS
    log: SeriesStats = NO_STATS
    names: SeriesNames = NO_NAMES


def load_summary(snapshot: RunSnapshot) -> StoredSummary:
    """Load a run's summary. Raises CorruptDataError."""
    query = select(SummaryRow).where(SummaryRow.run_id == snapshot.run_id)
    row = snapshot.connection.execute(query).one_or_none()
    if row is None:
        return StoredSummary()
    chunks, log = (
        snapshot.decoded(decode_stats, blob, "series statistics".format) for blob in (row.chunks, row.log)
    )
    names = NO_NAMES
    if row.names is not None:
        names = snapshot.decoded(decode_names, row.names, "series names".format)
    return StoredSummary(generation=row.generation, entry=row.entry, chunks=chunks, log=log, names=names)


def summary_names(snapshot: RunSnapshot, stored: StoredSummary, *more: SeriesStats) -> SeriesNames:
    """Return the names of all series of a summary and of more statistics.

    Where a name is damaged, the stored names: writing continues, and readers of that name get the error.
    """
    ids = np.unique(np.concatenate([stats.ids for stats in (stored.chunks, stored.log, *more)]))
    with suppress(CorruptDataError):
        return complete_names(snapshot.connection, snapshot.run_id, stored.names, ids)
    return stored.names


def begin_rewrite(connection: Connection, run_id: int, generation: int) -> None:
    """Begin a rewrite prepared as of a generation; the first statement of its transaction.

    Raises ConcurrentRewriteError if there was another rewrite since.
    """
    if generation:
        unchanged = update(SummaryRow).where(SummaryRow.run_id == run_id, SummaryRow.generation == generation)
        updated = connection.execute(unchanged.values(generation=generation + 1)).rowcount
    else:
        initial = {
            "generation": 1,
            "entry": 0,
            "chunks": encode_stats(NO_STATS),
            "log": encode_stats(NO_STATS),
        }
        try:
            updated = connection.execute(insert(SummaryRow).values(run_id=run_id, **initial)).rowcount
        except IntegrityError:
            updated = 0
    if not updated:
        raise ConcurrentRewriteError(f"the chunks of run {run_id} were rewritten by another process")


def save_summary(connection: Connection, run_id: int, stored: StoredSummary) -> None:
    """Finish a rewrite: store the statistics of the run's series."""
    values = {
        "entry": stored.entry,
        "chunks": encode_stats(stored.chunks),
        "log": encode_stats(stored.log),
        "names": encode_names(stored.names),
    }
    connection.execute(update(SummaryRow).where(SummaryRow.run_id == run_id).values(values))


def rebuild_summary(connection: Connection, run_id: int) -> None:
    """Recompute the summary from chunks and log, as a complete rewrite.

    Called at the end of a transaction that has changed chunks or log.
    """
    snapshot = RunSnapshot(connection, run_id)
    stored = load_summary(snapshot)
    begin_rewrite(connection, run_id, stored.generation)
    chunk_stats = stats_of_chunks(snapshot, snapshot.chunks())
    log = snapshot.log(until=stored.entry)
    parts = [stats_of_block(attempt, block) for attempt, block in log.items()]
    renewed = replace(stored, chunks=chunk_stats, log=combine_stats(parts))
    save_summary(connection, run_id, replace(renewed, names=summary_names(snapshot, renewed)))


def stats_of_chunks(snapshot: RunSnapshot, rows: Collection[ChunkRow]) -> SeriesStats:
    """Compute the statistics of series from all of their chunks."""
    newest = {row.series_id: row for row in sorted(rows, key=attrgetter("attempt", "step_max"))}
    if not newest:
        return NO_STATS
    points = snapshot.points(list(newest.values()))
    last = [(series_id, row.attempt, *_last(points[row.id])) for series_id, row in sorted(newest.items())]
    ids, attempt, step = (np.array(column, dtype=np.int64) for column in list(zip(*last, strict=True))[:3])
    time, value = (np.array(column) for column in list(zip(*last, strict=True))[3:])
    zeros, float_zeros = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids))
    return recount_stats(
        SeriesStats(ids, attempt, step, time, value, zeros, zeros, zeros, zeros, float_zeros, float_zeros),
        rows,
    )


def _last(points: SeriesPoints) -> tuple[int, float, float]:
    return int(points.step[-1]), float(points.time[-1]), float(points.value[-1])


def recount_stats(stats: SeriesStats, rows: Collection[ChunkRow]) -> SeriesStats:
    """Return the statistics with counts and extremes of the series in `rows` replaced by those of the rows.

    `rows` has all chunks of these series.
    """
    ordered = sorted(rows, key=attrgetter("series_id"))
    changed = SeriesStats._make(column.copy() for column in stats)
    for series_id, series_rows in groupby(ordered, key=attrgetter("series_id")):
        index = int(np.searchsorted(stats.ids, series_id))
        for column, amount in zip(changed[5:], _sums(list(series_rows)), strict=True):
            column[index] = amount
    return changed


def _sums(rows: Sequence[ChunkRow]) -> tuple[int, int, int, int, float, float]:
    low = min((row.value_min for row in rows if row.value_min is not None), default=np.inf)
    high = max((row.value_max for row in rows if row.value_max is not None), default=-np.inf)
    points, logged = sum(row.points for row in rows), sum(row.logged for row in rows)
    return points, logged, sum(row.nonfinite for row in rows), min(row.step_min for row in rows), low, high
