"""What is known of runs: their series in numbers, remembered, and brought up to date from the log.

Looks up the names of series that are not known yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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

_NONE = "[]"
_numbers, _texts = msgspec.json.Decoder(list[int]), msgspec.json.Decoder(list[str])


def complete_names(connection: Connection, run_id: int, known: SeriesNames, ids: IntArray) -> SeriesNames:
    """Names of a run's series, with those of these (ascending) ids that are not known yet."""
    if np.array_equal(known.ids, ids):
        return known
    missing = ids[~np.isin(ids, known.ids)].tolist()
    if missing:
        for _, rows in query_names(connection, [run_id], SeriesRow.id >= missing[0]):
            known = known.with_rows(rows.only(missing))
    return known


def query_names(
    connection: Connection, run_ids: Collection[int], *which: Any
) -> Iterator[tuple[int, SeriesNameRows]]:
    """The names of series of runs. They come as texts: ten thousand rows take five times as long."""
    lite = connection.dialect.name == "sqlite"
    gathered = func.json_group_array if lite else func.json_agg
    columns = [cast(gathered(one), Text) for one in (SeriesRow.id, SeriesRow.metric, SeriesRow.labels)]
    query = select(SeriesRow.run_id, *columns).where(SeriesRow.run_id.in_(run_ids), *which)
    rows: Any = connection.execute(query.group_by(SeriesRow.run_id))
    for run_id, ids, metrics, labels in rows:
        yield run_id, SeriesNameRows(_numbers.decode(ids), _texts.decode(metrics), _labels(run_id, labels))


def _labels(run_id: int, packed: str) -> list[Labels]:
    texts = _texts.decode(packed)
    if texts.count(_NONE) == len(texts):
        return [()] * len(texts)
    try:
        return list(map(parse_labels, texts))
    except (ValueError, TypeError) as error:
        raise CorruptDataError(f"run {run_id}: labels of a series are not readable: {error}") from error


_SERIES_BYTES = 400
_AT_ONCE = 500  # values in one statement


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class RunStats:
    """A run as of a version of it (generation, revision): its series by id, and in numbers.

    Names are in the order of the keys. `entry` is the last row of the log that is counted in. Of the
    `doubtful` series, some step may have been written twice since the last compaction: their sums and
    extremes are not those of their points.
    """

    version: tuple[int, int] = (-1, -1)
    entry: int = 0
    names: Mapping[int, SeriesKey]
    numbers: SeriesStats = NO_STATS
    doubtful: frozenset[int] = frozenset()


def load_run_stats(connection: Connection, run_ids: Collection[int], memory: LruCache) -> dict[int, RunStats]:
    """What is known of runs, in as many statements for many as for one. Raises CorruptDataError."""
    versions = _versions(connection, run_ids)
    held = {number: memory.get(("known", number)) or RunStats(names={}) for number in versions}
    stale = {number: known for number, known in held.items() if known.version != versions[number]}
    if not stale:
        return held
    exchanged = [number for number, known in stale.items() if known.version[0] != versions[number][0]]
    stale |= _stored(connection, exchanged, stale)
    fresh = {
        number: replace(known, version=versions[number])
        for number, known in _named(connection, _counted(connection, stale)).items()
    }
    for number, known in fresh.items():
        memory.put(("known", number), known, _SERIES_BYTES * (1 + len(known.names)))
    return held | fresh


def _versions(connection: Connection, run_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    query = select(RunRecord.id, func.coalesce(SummaryRow.generation, 0), RunRecord.revision)
    query = query.outerjoin(SummaryRow, SummaryRow.run_id == RunRecord.id)
    rows = _rows(connection, query, RunRecord.id, run_ids)
    return {number: (generation, revision) for number, generation, revision in rows}


def _stored(
    connection: Connection, run_ids: Collection[int], before: Mapping[int, RunStats]
) -> dict[int, RunStats]:
    """Of runs whose chunks were exchanged: what the summaries say; names stay known."""
    query = select(
        SummaryRow.run_id, SummaryRow.generation, SummaryRow.entry, SummaryRow.chunks, SummaryRow.log
    )
    found = {number: RunStats(names=before[number].names) for number in run_ids}
    for row in _rows(connection, query, SummaryRow.run_id, run_ids):
        try:
            numbers = combine_stats([decode_stats(row.chunks), decode_stats(row.log)])
        except CorruptDataError as error:
            raise CorruptDataError(f"run {row.run_id}, series in numbers: {error}") from error
        found[row.run_id] = replace(found[row.run_id], entry=row.entry, numbers=numbers)
    return found


def _counted(connection: Connection, runs: Mapping[int, RunStats]) -> dict[int, RunStats]:
    """With what the log has got since."""
    places = select(
        LogEntry.run_id, LogEntry.id
    )  # an index has these: the payloads of new rows alone are read
    new = sorted(
        number
        for run_id, number in _rows(connection, places, LogEntry.run_id, runs)
        if number > runs[run_id].entry
    )
    query = select(LogEntry.id, LogEntry.run_id, LogEntry.attempt, LogEntry.payload)
    blocks: dict[int, dict[int, list[PointBlock]]] = {}
    last: dict[int, int] = {}
    for number, run_id, attempt, payload in sorted(_rows(connection, query, LogEntry.id, new)):
        try:
            block = decode_log_entry(payload)
        except CorruptDataError as error:
            raise CorruptDataError(f"run {run_id}, log entry {number}: {error}") from error
        blocks.setdefault(run_id, {}).setdefault(attempt, []).append(block)
        last[run_id] = number
    found = dict(runs)
    for run_id, attempts in blocks.items():
        numbers, doubtful = runs[run_id].numbers, set(runs[run_id].doubtful)
        for attempt, held in sorted(attempts.items()):
            part = stats_of_block(attempt, merge_blocks(held))
            doubtful |= set(overlapping_series(numbers, part).tolist())
            numbers = combine_stats([numbers, part])
        found[run_id] = replace(
            runs[run_id], entry=last[run_id], numbers=numbers, doubtful=frozenset(doubtful)
        )
    return found


def _named(connection: Connection, runs: Mapping[int, RunStats]) -> dict[int, RunStats]:
    """With the names of series that were not known: as the summaries have them, else as their rows do."""
    found = dict(runs)
    if unknown := _unnamed(found):
        query = select(SummaryRow.run_id, SummaryRow.names).where(SummaryRow.names.is_not(None))
        for run_id, blob in _rows(connection, query, SummaryRow.run_id, unknown):
            try:
                found[run_id] = replace(found[run_id], names=decode_names(blob).by_id())
            except CorruptDataError as error:
                raise CorruptDataError(f"run {run_id}, names of series: {error}") from error
    unknown = _unnamed(found)
    for start in range(0, len(unknown), _AT_ONCE):
        for run_id, rows in query_names(connection, unknown[start : start + _AT_ONCE]):
            found[run_id] = replace(found[run_id], names=NO_NAMES.with_rows(rows).by_id())
    return found


def _unnamed(runs: Mapping[int, RunStats]) -> list[int]:
    return [
        number
        for number, known in runs.items()
        if known.numbers.ids.max(initial=0) > max(known.names, default=0)
    ]


def _rows(connection: Connection, query: Any, column: Any, values: Collection[int]) -> Iterator[Any]:
    held = sorted(values)
    for start in range(0, len(held), _AT_ONCE):
        yield from connection.execute(query.where(column.in_(held[start : start + _AT_ONCE])))
