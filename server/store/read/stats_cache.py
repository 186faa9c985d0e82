"""Cached statistics of runs, updated from new log entries; and queries for names of series."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Text, cast, func, select

from holter.server.models import LogEntry, RunRecord, SeriesRow, SummaryRow
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import PointBlock, decode_log_entry
from holter.server.store.encoding.merge import merge_blocks
from holter.server.store.encoding.series_names import NO_NAMES, SeriesNameRows, SeriesNames, decode_names
from holter.server.store.encoding.series_stats import (
    NO_STATS,
    SeriesStats,
    combine_stats,
    decode_stats,
    overlapping_series,
    stats_of_block,
)
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import parse_labels
from holter.types import IntArray, Labels, SeriesKey

_NO_LABELS = "[]"
_STATS_BYTES = 400
_MAX_PARAMETERS = 500  # values in one statement
POINTS_AT_ONCE = 2_000_000
"""Points of the log that are decoded before they are counted: about 100 MB of memory."""
_numbers, _strings = msgspec.json.Decoder(list[int]), msgspec.json.Decoder(list[str])


def complete_names(connection: Connection, run_id: int, known: SeriesNames, ids: IntArray) -> SeriesNames:
    """Return the names with those of further series (ascending ids), queried from the series table."""
    if np.array_equal(known.ids, ids):
        return known
    missing = ids[~np.isin(ids, known.ids)].tolist()
    if missing:
        for _, rows in query_names(connection, [run_id], SeriesRow.id >= missing[0]):
            known = known.with_rows(rows.only(missing))
    return known


def query_names(
    connection: Connection, run_ids: Collection[int], *conditions: Any
) -> Iterator[tuple[int, SeriesNameRows]]:
    """Query the names of series of runs.

    They are aggregated to JSON in the database: ten thousand single rows take five times as long.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    aggregate = func.json_group_array if is_sqlite else func.json_agg
    columns = [cast(aggregate(column), Text) for column in (SeriesRow.id, SeriesRow.metric, SeriesRow.labels)]
    query = select(SeriesRow.run_id, *columns).where(SeriesRow.run_id.in_(run_ids), *conditions)
    rows: Any = connection.execute(query.group_by(SeriesRow.run_id))
    for run_id, ids, metrics, labels in rows:
        yield (
            run_id,
            SeriesNameRows(_numbers.decode(ids), _strings.decode(metrics), _decode_labels(run_id, labels)),
        )


def _decode_labels(run_id: int, encoded: str) -> list[Labels]:
    labels = _strings.decode(encoded)
    if labels.count(_NO_LABELS) == len(labels):
        return [()] * len(labels)
    try:
        return list(map(parse_labels, labels))
    except (ValueError, TypeError) as error:
        raise CorruptDataError(f"run {run_id}: unreadable labels of a series: {error}") from error


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class RunStats:
    """Statistics and names of a run's series as of a version (generation, revision).

    Names are in key order. `entry` is the last log entry that is included. Points of the `doubtful`
    series may have been delivered twice since the last compaction: their counts need a recount.
    """

    version: tuple[int, int] = (-1, -1)
    entry: int = 0
    names: Mapping[int, SeriesKey]
    stats: SeriesStats = NO_STATS
    doubtful: frozenset[int] = frozenset()


def load_run_stats(connection: Connection, run_ids: Collection[int], cache: LruCache) -> dict[int, RunStats]:
    """Return the statistics of runs, in a constant number of statements. Raises CorruptDataError."""
    versions = _versions(connection, run_ids)
    cached = {run_id: cache.get(("known", run_id)) or RunStats(names={}) for run_id in versions}
    stale = {run_id: stats for run_id, stats in cached.items() if stats.version != versions[run_id]}
    if not stale:
        return cached
    rewritten = [run_id for run_id, stats in stale.items() if stats.version[0] != versions[run_id][0]]
    stale |= _query_summaries(connection, rewritten, stale)
    updated = {
        run_id: replace(stats, version=versions[run_id])
        for run_id, stats in _add_names(connection, _add_log_entries(connection, stale)).items()
    }
    for run_id, stats in updated.items():
        cache.put(("known", run_id), stats, _STATS_BYTES * (1 + len(stats.names)))
    return cached | updated


def _versions(connection: Connection, run_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    query = select(RunRecord.id, func.coalesce(SummaryRow.generation, 0), RunRecord.revision)
    query = query.outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
    rows = _select_in_batches(connection, query, RunRecord.id, run_ids)
    return {number: (generation, revision) for number, generation, revision in rows}


def _query_summaries(
    connection: Connection, run_ids: Collection[int], before: Mapping[int, RunStats]
) -> dict[int, RunStats]:
    """Load the summaries of runs whose chunks were rewritten; names known before are reused."""
    query = select(
        SummaryRow.run_id, SummaryRow.generation, SummaryRow.entry, SummaryRow.chunks, SummaryRow.log
    )
    loaded = {run_id: RunStats(names=before[run_id].names) for run_id in run_ids}
    for row in _select_in_batches(connection, query, SummaryRow.run_id, run_ids):
        try:
            stats = combine_stats([decode_stats(row.chunks), decode_stats(row.log)])
        except CorruptDataError as error:
            raise CorruptDataError(f"run {row.run_id}, series statistics: {error}") from error
        loaded[row.run_id] = replace(loaded[row.run_id], entry=row.entry, stats=stats)
    return loaded


def _add_log_entries(connection: Connection, runs: Mapping[int, RunStats]) -> dict[int, RunStats]:
    """Return the statistics with log entries added since."""
    index_query = select(
        LogEntry.run_id, LogEntry.id
    )  # an index has these columns: only payloads of new rows are read
    new = sorted(
        entry_id
        for run_id, entry_id in _select_in_batches(connection, index_query, LogEntry.run_id, runs)
        if entry_id > runs[run_id].entry
    )
    updated = dict(runs)
    blocks: dict[int, dict[int, list[PointBlock]]] = {}
    points = 0
    for entry_id, run_id, attempt, payload in _payloads(connection, new):
        try:
            block = decode_log_entry(payload)
        except CorruptDataError as error:
            raise CorruptDataError(f"run {run_id}, log entry {entry_id}: {error}") from error
        blocks.setdefault(run_id, {}).setdefault(attempt, []).append(block)
        updated[run_id] = replace(updated[run_id], entry=entry_id)
        points += len(block.values)
        if points >= POINTS_AT_ONCE:
            updated |= {run: _with_points(updated[run], parts) for run, parts in blocks.items()}
            blocks, points = {}, 0
    return updated | {run: _with_points(updated[run], parts) for run, parts in blocks.items()}


def _payloads(connection: Connection, entries: Sequence[int]) -> Iterator[Any]:
    """Log entries in ascending order, of which few are in memory at once."""
    query = select(LogEntry.id, LogEntry.run_id, LogEntry.attempt, LogEntry.payload).order_by(LogEntry.id)
    for start in range(0, len(entries), _MAX_PARAMETERS):
        chosen = LogEntry.id.in_(entries[start : start + _MAX_PARAMETERS])
        with connection.execute(query.where(chosen).execution_options(yield_per=8)) as rows:
            yield from rows


def _with_points(run: RunStats, attempts: Mapping[int, list[PointBlock]]) -> RunStats:
    """The statistics with points added by attempt."""
    stats, doubtful = run.stats, set(run.doubtful)
    for attempt, blocks in sorted(attempts.items()):
        merged = merge_blocks(blocks)
        doubtful |= set(overlapping_series(stats, attempt, merged).tolist())
        stats = combine_stats([stats, stats_of_block(attempt, merged)])
    return replace(run, stats=stats, doubtful=frozenset(doubtful))


def _add_names(connection: Connection, runs: Mapping[int, RunStats]) -> dict[int, RunStats]:
    """Return the statistics with missing names, from the summaries, else from the series table."""
    updated = dict(runs)
    if unnamed := _runs_without_names(updated):
        query = select(SummaryRow.run_id, SummaryRow.names).where(SummaryRow.names.is_not(None))
        for run_id, blob in _select_in_batches(connection, query, SummaryRow.run_id, unnamed):
            try:
                updated[run_id] = replace(updated[run_id], names=decode_names(blob).by_id())
            except CorruptDataError as error:
                raise CorruptDataError(f"run {run_id}, series names: {error}") from error
    unnamed = _runs_without_names(updated)
    for start in range(0, len(unnamed), _MAX_PARAMETERS):
        for run_id, rows in query_names(connection, unnamed[start : start + _MAX_PARAMETERS]):
            updated[run_id] = replace(updated[run_id], names=NO_NAMES.with_rows(rows).by_id())
    return updated


def _runs_without_names(runs: Mapping[int, RunStats]) -> list[int]:
    return [
        run_id
        for run_id, stats in runs.items()
        if stats.stats.ids.max(initial=0) > max(stats.names, default=0)
    ]


def _select_in_batches(
    connection: Connection, query: Any, column: Any, values: Collection[int]
) -> Iterator[Any]:
    ordered = sorted(values)
    for start in range(0, len(ordered), _MAX_PARAMETERS):
        yield from connection.execute(query.where(column.in_(ordered[start : start + _MAX_PARAMETERS])))
