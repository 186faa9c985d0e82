"""Checks that everything stored is what was written: checksums, counts, ranges, references.

Checks of what stands beside the points: timelines, attempts, names, states, the database's own file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DatabaseError, OperationalError

from holter.attempts import Attempts
from holter.attempts.writers import WriterState
from holter.plurals import counted, verb
from holter.server.models import (
    AcceptedBatch,
    Attempt,
    Chunk,
    ConfigRow,
    LogEntry,
    RunRecord,
    SeriesRow,
    Timeline,
    WriterRow,
)
from holter.server.store.compaction.summary import StoredSummary, load_summary, recount_stats, stats_of_chunks
from holter.server.store.encoding import pyramid
from holter.server.store.encoding.attempt_progress import step_ranges
from holter.server.store.encoding.block import SeriesPoints, decode_log_entry
from holter.server.store.encoding.chunk import decode_timeline, decode_values, timeline_digest
from holter.server.store.encoding.series_stats import SeriesStats, combine_stats, stats_of_block
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import labels_text, parse_series_key
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot, chunks_by_series

_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)  # what damaged JSON leads to
_DIGEST = 16


def check_file(connection: Connection) -> Iterator[str]:
    """What the database itself says of its file: SQLite can, PostgreSQL checks pages as it reads them."""
    if connection.dialect.name != "sqlite":
        return
    for (said,) in connection.execute(text("PRAGMA integrity_check(100)")):
        if said != "ok":
            yield f"the file: {said}"
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"table {row[0]}, row {row[1]}: the row of {row[2]} that it refers to is not there"


def check_names(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every series has a name that can be read back."""
    query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run_id)
    for row in connection.execute(query):
        try:
            wrong = labels_text(parse_series_key(row.metric, row.labels).labels) != row.labels
        except _UNREADABLE:
            wrong = True
        if wrong:
            yield f"series {row.id} ({row.metric}): its labels {row.labels!r} are not readable"


def check_timelines(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every timeline is the one that its digest says."""
    query = select(Timeline.id, Timeline.digest, Timeline.payload).where(Timeline.run_id == run_id)
    for row in connection.execute(query.execution_options(yield_per=100)):
        try:
            if timeline_digest(*decode_timeline(row.payload)) != bytes(row.digest):
                yield f"timeline {row.id}: its digest belongs to another one"
        except CorruptDataError as error:
            yield f"timeline {row.id}: {error}"


def check_config(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every setting can be read back."""
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels, ConfigRow.value)
    for attempt, name, labels, value in connection.execute(query.where(ConfigRow.run_id == run_id)):
        try:
            wrong = labels_text(parse_series_key(name, labels).labels) != labels
            wrong |= not isinstance(json.loads(value), str | int | float | bool)
        except _UNREADABLE:
            wrong = True
        if wrong:
            yield f"config {name} of attempt {attempt}: {labels!r} or {value[:60]!r} is not readable"


def check_states(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether what tells attempts apart, and the keys of accepted batches, can be read."""
    try:
        Attempts.from_json(
            connection.scalar(select(RunRecord.attempt_state).where(RunRecord.id == run_id)) or {}
        )
    except _UNREADABLE as error:
        yield f"how its attempts are told apart is not readable: {error}"
    try:
        for state in connection.scalars(select(WriterRow.state).where(WriterRow.run_id == run_id)):
            WriterState.from_json(state)
    except _UNREADABLE as error:
        yield f"what is remembered of a writer is not readable: {error}"
    wrong = select(func.count()).select_from(AcceptedBatch).where(AcceptedBatch.run_id == run_id)
    if count := connection.scalar(wrong.where(func.length(AcceptedBatch.digest) != _DIGEST)):
        yield f"{counted(count, 'key')} of accepted batches {verb(count, 'is', 'are')} none"


def check_attempts(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether each attempt wrote at least what is stored of it, and begins and ends where a series does."""
    held: dict[int, _Held] = {}
    whole = True
    chunks = select(Chunk.attempt, func.min(Chunk.step_min), func.max(Chunk.step_max), func.sum(Chunk.logged))
    chunks = chunks.join(SeriesRow).where(SeriesRow.run_id == run_id)
    for number, first, last, logged in connection.execute(chunks.group_by(Chunk.attempt, Chunk.series_id)):
        held.setdefault(number, _Held()).add([first], [last], int(logged))
    log = select(LogEntry.attempt, LogEntry.payload).where(LogEntry.run_id == run_id)
    for number, payload in connection.execute(log.execution_options(yield_per=100)):
        try:
            block = decode_log_entry(payload)
        except CorruptDataError:
            whole = False  # said of the entry itself
            continue
        begins, ends = step_ranges(block)
        held.setdefault(number, _Held()).add(begins.tolist(), ends.tolist(), 0)
    attempts = connection.execute(select(Attempt.__table__).where(Attempt.run_id == run_id))
    rows = {row.number: row for row in attempts}
    for number in sorted(held.keys() | rows.keys()) if whole else ():
        yield from _differences(number, held.get(number), rows.get(number))


class _Held:
    """What is stored of an attempt: where its series begin and end, and how many points its chunks had."""

    def __init__(self) -> None:
        self.first: set[int] = set()
        self.last: set[int] = set()
        self.points = 0

    def add(self, first: list[int], last: list[int], points: int) -> None:
        self.first.update(first)
        self.last.update(last)
        self.points += points


def _differences(number: int, held: _Held | None, row: Any) -> Iterator[str]:
    if held is None or row is None:
        yield f"attempt {number}: {'no points of it are' if held is None else 'it is not'} there"
        return
    if row.points < held.points:
        wrote, stored = counted(row.points, "point"), counted(held.points, "point")
        yield f"attempt {number}: wrote {wrote}, but {stored} {verb(held.points, 'is', 'are')} stored"
    if row.first_step not in held.first or row.last_step not in held.last:
        yield f"attempt {number}: no series goes from step {row.first_step}, or to step {row.last_step}"


_AT_ONCE = 50  # series whose newest chunks are read together


def find_problems(connection: Connection) -> Iterator[str]:
    """Everything that is wrong, each with the run and the series it belongs to."""
    try:
        yield from check_file(connection)
        yield from _of_all(connection)
    except DatabaseError as error:
        if isinstance(error, OperationalError):
            raise  # away, not damaged
        yield f"the database cannot be read any further: {error.orig}"


def _of_all(connection: Connection) -> Iterator[str]:
    runs = select(RunRecord.id, RunRecord.name).where(
        RunRecord.deleted_at.is_(None)
    )  # the others may be half gone
    for run_id, name in connection.execute(runs.order_by(RunRecord.id)).all():
        for problem in _of_run(connection, run_id):
            yield f"run {name!r}: {problem}"
    lost = select(func.count()).select_from(Chunk).outerjoin(SeriesRow).where(SeriesRow.id.is_(None))
    if count := connection.scalar(lost):
        yield f"{counted(count, 'chunk')} {verb(count, 'belongs', 'belong')} to no series"


def _of_run(connection: Connection, run_id: int) -> Iterator[str]:
    if unreadable := list(check_names(connection, run_id)):
        yield from unreadable
        return  # nobody can tell whose points these are
    yield from check_timelines(connection, run_id)
    yield from check_states(connection, run_id)
    yield from check_config(connection, run_id)
    yield from check_attempts(connection, run_id)
    series = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run_id)
    names = {row.id: str(parse_series_key(row.metric, row.labels)) for row in connection.execute(series)}
    yield from _of_log(connection, run_id, names)
    yield from _of_chunks(connection, run_id, names)
    snapshot = RunSnapshot(connection, run_id)
    try:
        stored = load_summary(snapshot)
    except CorruptDataError as error:
        yield str(error)
    else:
        yield from _of_summary(snapshot, stored, names)


def _of_log(connection: Connection, run_id: int, names: dict[int, str]) -> Iterator[str]:
    query = select(*LogEntry.__table__.columns).where(LogEntry.run_id == run_id).order_by(LogEntry.id)
    for row in _streamed(connection, query):
        place = f"log entry {row.id} (attempt {row.attempt}, steps {row.step_min} to {row.step_max})"
        yield from _attempted(place, partial(_check_entry, row, names))


def _check_entry(row: Any, names: dict[int, str]) -> None:
    block = decode_log_entry(row.payload)
    _same("points", len(block.values), row.points)
    _same("first step", int(block.steps.min()), row.step_min)
    _same("last step", int(block.steps.max()), row.step_max)
    strangers = set(block.ids.tolist()) - names.keys()
    if strangers:
        raise CorruptDataError(f"holds series that the run does not have: {sorted(strangers)}")


def _of_chunks(connection: Connection, run_id: int, names: dict[int, str]) -> Iterator[str]:
    query = select(
        *Chunk.__table__.columns, Timeline.payload.label("timeline"), Timeline.run_id.label("timeline_run")
    )
    query = query.join(Timeline).join(SeriesRow).where(SeriesRow.run_id == run_id)
    # by timeline: many chunks share one, and not all of them fit into memory
    query = query.order_by(Chunk.timeline_id, Chunk.id)
    current, steps, times = None, None, None
    for row in _streamed(connection, query):
        if row.timeline_id != current:
            current, steps = row.timeline_id, None
            with suppress(CorruptDataError):  # said of the timeline itself
                steps, times = decode_timeline(row.timeline)
        place = f"series {names[row.series_id]}, chunk {row.id} (steps {row.step_min} to {row.step_max})"
        if row.timeline_run != run_id:
            yield f"{place}: its timeline {row.timeline_id} is another run's"
        if steps is None:
            yield f"{place}: its timeline {row.timeline_id} is not readable"
        else:
            yield from _attempted(place, partial(_check_chunk, row, steps, times))


def _of_summary(snapshot: RunSnapshot, stored: StoredSummary, names: dict[int, str]) -> Iterator[str]:
    """Whether the sums are those of the rows, and whether chunks have no step in common."""
    rows = sorted(snapshot.chunks(), key=attrgetter("series_id", "attempt", "step_min"))
    for row, following in pairwise(rows):
        same = (row.series_id, row.attempt) == (following.series_id, following.attempt)
        if same and following.step_min <= row.step_max:
            yield f"series {names[row.series_id]}: chunks {row.id} and {following.id} have steps in common"
    held = {row.series_id for row in rows}
    chunks = stored.chunks
    if held != set(chunks.ids.tolist()) or _differ(recount_stats(chunks, rows)[5:], chunks[5:]):
        yield "series in numbers: those of the chunks are not what the chunks say"
    else:
        with suppress(CorruptDataError):  # said of the chunk itself
            if not all(_newest_stand(snapshot, chunks_by_series(rows), chunks)):
                yield "series in numbers: newest points are not the last ones of the chunks"
    keys = stored.names.by_id()  # none of a run that was compacted by a Holter before there were names
    if keys and (
        {number: str(key) for number, key in keys.items()}
        != {number: names.get(number) for number in _ids(stored)}
        or list(keys.values()) != sorted(keys.values())
    ):
        yield "names of series: they are not those of the series in numbers"
    try:
        log = [stats_of_block(attempt, block) for attempt, block in snapshot.log(until=stored.entry).items()]
    except CorruptDataError:
        return  # said of the entry itself
    if _differ(combine_stats(log), stored.log):
        yield "series in numbers: those of the log are not what the log says"


def _ids(stored: StoredSummary) -> set[int]:
    return {*stored.chunks.ids.tolist(), *stored.log.ids.tolist()}


def _newest_stand(
    snapshot: RunSnapshot, rows: dict[int, list[ChunkRow]], chunks: SeriesStats
) -> Iterator[bool]:
    """Whether the newest points of the series are those of their chunks; few chunks are held at once."""
    for start in range(0, len(chunks.ids), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        some = [row for number in chunks.ids[part].tolist() for row in rows[number]]
        found = stats_of_chunks(RunSnapshot(snapshot.connection, snapshot.run_id), some)
        yield not _differ(found[:5], (column[part] for column in chunks[:5]))


def _differ(some: Iterable[NDArray[Any]], others: Iterable[NDArray[Any]]) -> bool:
    pairs = zip(some, others, strict=True)
    return not all(one.tobytes() == other.tobytes() for one, other in pairs)


def _streamed(connection: Connection, query: Any) -> Iterator[Any]:
    yield from connection.execute(query.execution_options(yield_per=100))


def _check_chunk(row: Any, steps: Any, times: Any) -> None:
    values = decode_values(row.payload)
    finite = values[np.isfinite(values)]
    _same("points", len(values), row.points)
    _same("steps", len(steps), row.points)
    _same("first step", int(steps[0]), row.step_min)
    _same("last step", int(steps[-1]), row.step_max)
    _same("non-finite values", len(values) - len(finite), row.nonfinite)
    _same("minimum", float(finite.min()) if len(finite) else None, row.value_min)
    _same("maximum", float(finite.max()) if len(finite) else None, row.value_max)
    if row.logged < row.points:
        raise CorruptDataError(f"only {row.logged} of its {row.points} points were ever logged")
    if np.any(steps[1:] <= steps[:-1]):
        raise CorruptDataError("its steps do not ascend")
    if pyramid.encode_pyramid(SeriesPoints(steps, times, values)) != row.pyramid:
        raise CorruptDataError("its pyramid does not belong to its points")


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise CorruptDataError(f"{what}: {found} found, {expected} expected")


def _attempted(place: str, check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except CorruptDataError as error:
        yield f"{place}: {error}"
