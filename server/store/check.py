"""Integrity checks of everything stored: checksums, counts, ranges, references, and the database's own
file.
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
from holter.server.store.encoding.merge import merged_indices
from holter.server.store.encoding.series_stats import SeriesStats, combine_stats, stats_of_block
from holter.server.store.errors import CorruptDataError
from holter.server.store.keys import labels_text, parse_series_key
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot, chunks_by_series

_DECODE_ERRORS = (ValueError, TypeError, LookupError, AttributeError)  # errors that damaged JSON raises
_DIGEST_SIZE = 16
_SERIES_PER_READ = 50  # series whose newest chunks are read at a time


def check_file(connection: Connection) -> Iterator[str]:
    """Run SQLite's own integrity checks; PostgreSQL verifies pages as it reads them."""
    if connection.dialect.name != "sqlite":
        return
    for (message,) in connection.execute(text("PRAGMA integrity_check(100)")):
        if message != "ok":
            yield f"the file: {message}"
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"table {row[0]}, row {row[1]}: the row of {row[2]} that it refers to is not there"


def check_names(connection: Connection, run_id: int) -> Iterator[str]:
    """Check that every series has readable labels."""
    query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run_id)
    for row in connection.execute(query):
        try:
            unreadable = labels_text(parse_series_key(row.metric, row.labels).labels) != row.labels
        except _DECODE_ERRORS:
            unreadable = True
        if unreadable:
            yield f"series {row.id} ({row.metric}): its labels {row.labels!r} are unreadable"


def check_timelines(connection: Connection, run_id: int) -> Iterator[str]:
    """Check that every timeline has the digest of its content."""
    query = select(Timeline.id, Timeline.digest, Timeline.payload).where(Timeline.run_id == run_id)
    for row in _stream(connection, query):
        try:
            if timeline_digest(*decode_timeline(row.payload)) != bytes(row.digest):
                yield f"timeline {row.id}: its digest does not match its content"
        except CorruptDataError as error:
            yield f"timeline {row.id}: {error}"


def check_config(connection: Connection, run_id: int) -> Iterator[str]:
    """Check that every setting is readable."""
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels, ConfigRow.value)
    for attempt, name, labels, value in connection.execute(query.where(ConfigRow.run_id == run_id)):
        try:
            unreadable = labels_text(parse_series_key(name, labels).labels) != labels
            unreadable |= not isinstance(json.loads(value), str | int | float | bool)
        except _DECODE_ERRORS:
            unreadable = True
        if unreadable:
            yield f"config {name} of attempt {attempt}: {labels!r} or {value[:60]!r} is unreadable"


def check_states(connection: Connection, run_id: int) -> Iterator[str]:
    """Check that the state that assigns attempts, and the keys of accepted batches, are readable."""
    try:
        Attempts.from_json(
            connection.scalar(select(RunRecord.attempt_state).where(RunRecord.id == run_id)) or {}
        )
    except _DECODE_ERRORS as error:
        yield f"its attempt state is unreadable: {error}"
    try:
        for state in connection.scalars(select(WriterRow.state).where(WriterRow.run_id == run_id)):
            WriterState.from_json(state)
    except _DECODE_ERRORS as error:
        yield f"the state of a writer is unreadable: {error}"
    invalid = select(func.count()).select_from(AcceptedBatch).where(AcceptedBatch.run_id == run_id)
    if count := connection.scalar(invalid.where(func.length(AcceptedBatch.digest) != _DIGEST_SIZE)):
        yield f"{counted(count, 'key')} of accepted batches {verb(count, 'is', 'are')} invalid"


def check_attempts(connection: Connection, run_id: int) -> Iterator[str]:
    """Check each attempt's row against its chunks and log entries: number of points, first and last step."""
    stored_attempts: dict[int, _StoredAttempt] = {}
    readable = True
    chunks = select(Chunk.attempt, func.min(Chunk.step_min), func.max(Chunk.step_max), func.sum(Chunk.logged))
    chunks = chunks.join(SeriesRow).where(SeriesRow.run_id == run_id)
    for number, first, last, logged in connection.execute(chunks.group_by(Chunk.attempt, Chunk.series_id)):
        stored_attempts.setdefault(number, _StoredAttempt()).add([first], [last], int(logged))
    log = select(LogEntry.attempt, LogEntry.payload).where(LogEntry.run_id == run_id)
    for number, payload in _stream(connection, log):
        try:
            block = decode_log_entry(payload)
        except CorruptDataError:
            readable = False  # reported for the entry itself
            continue
        begins, ends = step_ranges(block)
        stored_attempts.setdefault(number, _StoredAttempt()).add(begins.tolist(), ends.tolist(), 0)
    attempts = connection.execute(select(Attempt.__table__).where(Attempt.run_id == run_id))
    rows = {row.number: row for row in attempts}
    for number in sorted(stored_attempts.keys() | rows.keys()) if readable else ():
        yield from _differences(number, stored_attempts.get(number), rows.get(number))


class _StoredAttempt:
    """What is stored of an attempt: first and last steps of its series, and the points its chunks had."""

    def __init__(self) -> None:
        self.first: set[int] = set()
        self.last: set[int] = set()
        self.points = 0

    def add(self, first: list[int], last: list[int], points: int) -> None:
        self.first.update(first)
        self.last.update(last)
        self.points += points


def _differences(number: int, stored_attempt: _StoredAttempt | None, row: Any) -> Iterator[str]:
    """Compare an attempt's row with what is stored of it."""
    if stored_attempt is None or row is None:
        yield f"attempt {number}: {'its points are' if stored_attempt is None else 'its row is'} missing"
        return
    if row.points < stored_attempt.points:
        wrote, stored_points = counted(row.points, "point"), counted(stored_attempt.points, "point")
        are = verb(stored_attempt.points, "is", "are")
        yield f"attempt {number}: wrote {wrote}, but {stored_points} {are} stored"
    if row.first_step not in stored_attempt.first or row.last_step not in stored_attempt.last:
        yield f"attempt {number}: no series begins at step {row.first_step} or ends at {row.last_step}"


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a sentence for everything that is damaged, naming run and series."""
    try:
        yield from check_file(connection)
        yield from _check_all(connection)
    except DatabaseError as error:
        if isinstance(error, OperationalError):
            raise  # unavailable, not damaged
        yield f"the rest of the database cannot be read: {error.orig}"


def _check_all(connection: Connection) -> Iterator[str]:
    runs = select(RunRecord.id, RunRecord.name).where(
        RunRecord.deleted_at.is_(None)
    )  # deleted runs may be partly removed
    for run_id, name in connection.execute(runs.order_by(RunRecord.id)).all():
        for problem in _check_run(connection, run_id):
            yield f"run {name!r}: {problem}"
    orphans = select(func.count()).select_from(Chunk).outerjoin(SeriesRow).where(SeriesRow.id.is_(None))
    if count := connection.scalar(orphans):
        yield f"{counted(count, 'chunk')} {verb(count, 'belongs', 'belong')} to no series"


def _check_run(connection: Connection, run_id: int) -> Iterator[str]:
    if unreadable := list(check_names(connection, run_id)):
        yield from unreadable
        return  # without names the points cannot be attributed
    yield from check_timelines(connection, run_id)
    yield from check_states(connection, run_id)
    yield from check_config(connection, run_id)
    yield from check_attempts(connection, run_id)
    series = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run_id)
    names = {row.id: str(parse_series_key(row.metric, row.labels)) for row in connection.execute(series)}
    yield from _check_log(connection, run_id, names)
    yield from _check_chunks(connection, run_id, names)
    snapshot = RunSnapshot(connection, run_id)
    try:
        stored = load_summary(snapshot)
    except CorruptDataError as error:
        yield str(error)
    else:
        yield from _check_summary(snapshot, stored, names)


def _check_log(connection: Connection, run_id: int, names: dict[int, str]) -> Iterator[str]:
    query = select(*LogEntry.__table__.columns).where(LogEntry.run_id == run_id).order_by(LogEntry.id)
    for row in _stream(connection, query):
        location = f"log entry {row.id} (attempt {row.attempt}, steps {row.step_min} to {row.step_max})"
        yield from _catch_damage(location, partial(_check_entry, row, names))


def _check_entry(row: Any, names: dict[int, str]) -> None:
    block = decode_log_entry(row.payload)
    _expect_equal("points", len(block.values), row.points)
    _expect_equal("first step", int(block.steps.min()), row.step_min)
    _expect_equal("last step", int(block.steps.max()), row.step_max)
    unknown = set(block.ids.tolist()) - names.keys()
    if unknown:
        raise CorruptDataError(f"contains series that the run does not have: {sorted(unknown)}")


def _check_chunks(connection: Connection, run_id: int, names: dict[int, str]) -> Iterator[str]:
    query = select(
        *Chunk.__table__.columns, Timeline.payload.label("timeline"), Timeline.run_id.label("timeline_run")
    )
    query = query.join(Timeline).join(SeriesRow).where(SeriesRow.run_id == run_id)
    # ordered by timeline: many chunks share one, and not all of them fit into memory
    query = query.order_by(Chunk.timeline_id, Chunk.id)
    current, steps, times = None, None, None
    for row in _stream(connection, query):
        if row.timeline_id != current:
            current, steps = row.timeline_id, None
            with suppress(CorruptDataError):  # reported for the timeline itself
                steps, times = decode_timeline(row.timeline)
        location = f"series {names[row.series_id]}, chunk {row.id} (steps {row.step_min} to {row.step_max})"
        if row.timeline_run != run_id:
            yield f"{location}: its timeline {row.timeline_id} belongs to another run"
        if steps is None:
            yield f"{location}: its timeline {row.timeline_id} is unreadable"
        else:
            yield from _catch_damage(location, partial(_check_chunk, row, steps, times))


def _check_summary(snapshot: RunSnapshot, stored: StoredSummary, names: dict[int, str]) -> Iterator[str]:
    """Check the statistics against the rows, and that chunks share no steps."""
    rows = sorted(snapshot.chunks(), key=attrgetter("series_id", "attempt", "step_min"))
    for row, following in pairwise(rows):
        same = (row.series_id, row.attempt) == (following.series_id, following.attempt)
        if same and following.step_min <= row.step_max:
            yield f"series {names[row.series_id]}: chunks {row.id} and {following.id} have steps in common"
    series_ids = {row.series_id for row in rows}
    chunks = stored.chunks
    if series_ids != set(chunks.ids.tolist()) or _differ(recount_stats(chunks, rows)[5:], chunks[5:]):
        yield "series statistics: those of the chunks do not match the chunks"
    else:
        with suppress(CorruptDataError):  # reported for the chunk itself
            if not all(_newest_points_match(snapshot, chunks_by_series(rows), chunks)):
                yield "series statistics: the newest points are not the last ones of the chunks"
    keys = stored.names.by_id()  # empty for a run compacted by a version without stored names
    if keys and (
        {series_id: str(key) for series_id, key in keys.items()}
        != {series_id: names.get(series_id) for series_id in _series_ids(stored)}
        or list(keys.values()) != sorted(keys.values())
    ):
        yield "series names: they do not match the series statistics"
    try:
        log = [stats_of_block(attempt, block) for attempt, block in snapshot.log(until=stored.entry).items()]
    except CorruptDataError:
        return  # reported for the entry itself
    if _differ(combine_stats(log), stored.log):
        yield "series statistics: those of the log do not match the log"


def _series_ids(stored: StoredSummary) -> set[int]:
    return {*stored.chunks.ids.tolist(), *stored.log.ids.tolist()}


def _newest_points_match(
    snapshot: RunSnapshot, rows: dict[int, list[ChunkRow]], chunks: SeriesStats
) -> Iterator[bool]:
    """Whether the newest points are those of the chunks; few chunks are in memory at once."""
    for start in range(0, len(chunks.ids), _SERIES_PER_READ):
        part = slice(start, start + _SERIES_PER_READ)
        part_rows = [row for series_id in chunks.ids[part].tolist() for row in rows[series_id]]
        stats = stats_of_chunks(RunSnapshot(snapshot.connection, snapshot.run_id), part_rows)
        yield not _differ(stats[:5], (column[part] for column in chunks[:5]))


def _differ(left: Iterable[NDArray[Any]], right: Iterable[NDArray[Any]]) -> bool:
    pairs = zip(left, right, strict=True)
    return not all(first.tobytes() == second.tobytes() or _equal(first, second) for first, second in pairs)


def _equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether numbers are equal: which of 0.0 and -0.0 is an extreme depends on the order of adding up."""
    return len(left) == len(right) and bool(np.all((left == right) | ((left != left) & (right != right))))


def _stream(connection: Connection, query: Any) -> Iterator[Any]:
    with connection.execute(query.execution_options(yield_per=100)) as rows:
        yield from rows


def _check_chunk(row: Any, steps: Any, times: Any) -> None:
    values = decode_values(row.payload)
    finite = values[np.isfinite(values)]
    _expect_equal("points", len(values), row.points)
    _expect_equal("steps", len(steps), row.points)
    _expect_equal("first step", int(steps[0]), row.step_min)
    _expect_equal("last step", int(steps[-1]), row.step_max)
    _expect_equal("non-finite values", len(values) - len(finite), row.nonfinite)
    _expect_equal("minimum", float(finite.min()) if len(finite) else None, row.value_min)
    _expect_equal("maximum", float(finite.max()) if len(finite) else None, row.value_max)
    if row.logged < row.points:
        raise CorruptDataError(f"only {row.logged} of its {row.points} points were ever logged")
    kept = merged_indices(SeriesPoints(steps, times, values))
    if kept is not None and not np.array_equal(kept, np.arange(len(steps))):
        raise CorruptDataError("its points are not in the order of steps and times, each once")
    if pyramid.encode_pyramid(SeriesPoints(steps, times, values)) != row.pyramid:
        raise CorruptDataError("its pyramid does not match its points")


def _expect_equal(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise CorruptDataError(f"{what}: {actual}, expected {expected}")


def _catch_damage(location: str, check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except CorruptDataError as error:
        yield f"{location}: {error}"
