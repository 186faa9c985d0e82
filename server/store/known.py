"""What is known of runs: their series in numbers, remembered, and brought up to date from the log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, Text, cast, func, select

from holter.server.models import LogEntry, Run, SeriesRow, Summary
from holter.server.store.block import Block, decode_entry
from holter.server.store.errors import CorruptDataError
from holter.server.store.memory import Memory
from holter.server.store.merge import merge
from holter.server.store.numbers import NOTHING, Numbers, combine, of_block, reaching
from holter.server.store.state import key_of
from holter.server.store.summary import stored_of
from holter.types import SeriesKey

_SERIES_BYTES = 400
_AT_ONCE = 500  # values in one statement
_numbers, _texts = msgspec.json.Decoder(list[int]), msgspec.json.Decoder(list[str])
Named = tuple[int, SeriesKey]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Known:
    """A run as of a version of it (generation, revision): its series by id, and in numbers.

    Names are in the order of the keys. `entry` is the last row of the log that is counted in. Of the
    `doubtful` series, some step may have been written twice since the last compaction: their sums and
    extremes are not those of their points.
    """

    version: tuple[int, int] = (-1, -1)
    entry: int = 0
    names: Mapping[int, SeriesKey]
    numbers: Numbers = NOTHING
    doubtful: frozenset[int] = frozenset()


def know(connection: Connection, run_ids: Collection[int], memory: Memory) -> dict[int, Known]:
    """What is known of runs, in as many statements for many as for one. Raises CorruptDataError."""
    versions = _versions(connection, run_ids)
    held = {number: memory.get(("known", number)) or Known(names={}) for number in versions}
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
    query = select(Run.id, func.coalesce(Summary.generation, 0), Run.revision)
    query = query.outerjoin(Summary, Summary.run_id == Run.id)
    rows = _rows(connection, query, Run.id, run_ids)
    return {number: (generation, revision) for number, generation, revision in rows}


def _stored(
    connection: Connection, run_ids: Collection[int], before: Mapping[int, Known]
) -> dict[int, Known]:
    """Of runs whose chunks were exchanged: what the summaries say; names stay known."""
    query = select(Summary.run_id, Summary.generation, Summary.entry, Summary.chunks, Summary.log)
    found = {number: Known(names=before[number].names) for number in run_ids}
    for row in _rows(connection, query, Summary.run_id, run_ids):
        stored = stored_of(row)
        numbers = combine([stored.chunks, stored.log])
        found[row.run_id] = replace(found[row.run_id], entry=stored.entry, numbers=numbers)
    return found


def _counted(connection: Connection, runs: Mapping[int, Known]) -> dict[int, Known]:
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
    blocks: dict[int, dict[int, list[Block]]] = {}
    last: dict[int, int] = {}
    for number, run_id, attempt, payload in sorted(_rows(connection, query, LogEntry.id, new)):
        try:
            block = decode_entry(payload)
        except CorruptDataError as error:
            raise CorruptDataError(f"run {run_id}, log entry {number}: {error}") from error
        blocks.setdefault(run_id, {}).setdefault(attempt, []).append(block)
        last[run_id] = number
    found = dict(runs)
    for run_id, attempts in blocks.items():
        numbers, doubtful = runs[run_id].numbers, set(runs[run_id].doubtful)
        for attempt, held in sorted(attempts.items()):
            part = of_block(attempt, merge(held))
            doubtful |= set(reaching(numbers, part).tolist())
            numbers = combine([numbers, part])
        found[run_id] = replace(
            runs[run_id], entry=last[run_id], numbers=numbers, doubtful=frozenset(doubtful)
        )
    return found


def _named(connection: Connection, runs: Mapping[int, Known]) -> dict[int, Known]:
    """With the names of series that were not known."""
    unknown = [
        number for number, known in runs.items() if (known.numbers.ids > max(known.names, default=0)).any()
    ]
    ordered = {
        run_id: replace(runs[run_id], names=dict(sorted(names, key=itemgetter(1))))
        for run_id, names in _series(connection, unknown)
    }
    return {**runs, **ordered}


def _series(connection: Connection, run_ids: Collection[int]) -> Iterator[tuple[int, Iterable[Named]]]:
    """Ids and keys of the series of runs. They come as texts: ten thousand rows take five times as long."""
    lite = connection.dialect.name == "sqlite"
    gathered = func.json_group_array if lite else func.json_agg
    columns = [cast(gathered(one), Text) for one in (SeriesRow.id, SeriesRow.metric, SeriesRow.labels)]
    query = select(SeriesRow.run_id, *columns).group_by(SeriesRow.run_id)
    for run_id, ids, metrics, labels in _rows(connection, query, SeriesRow.run_id, run_ids):
        keys = map(key_of, _texts.decode(metrics), _texts.decode(labels))
        yield run_id, zip(_numbers.decode(ids), keys, strict=True)


def _rows(connection: Connection, query: Any, column: Any, values: Collection[int]) -> Iterator[Any]:
    held = sorted(values)
    for start in range(0, len(held), _AT_ONCE):
        yield from connection.execute(query.where(column.in_(held[start : start + _AT_ONCE])))
