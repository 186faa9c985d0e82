"""Checks of what stands beside the points: timelines, attempts, names, states, the database's own file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, func, select, text

from holter.attempts import Attempts
from holter.attempts.writers import Writer
from holter.counted import counted, verb
from holter.server.models import (
    AcceptedBatch,
    Attempt,
    Chunk,
    ConfigRow,
    LogEntry,
    Run,
    SeriesRow,
    Timeline,
    WriterRow,
)
from holter.server.store.errors import CorruptDataError
from holter.server.store.format.block import decode_entry
from holter.server.store.format.chunk import decode_timeline, digest
from holter.server.store.format.progress import ranges
from holter.server.store.keys import key_of, labels_text

_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError)  # what damaged JSON leads to
_DIGEST = 16


def of_file(connection: Connection) -> Iterator[str]:
    """What the database itself says of its file: SQLite can, PostgreSQL checks pages as it reads them."""
    if connection.dialect.name != "sqlite":
        return
    for (said,) in connection.execute(text("PRAGMA integrity_check(100)")):
        if said != "ok":
            yield f"the file: {said}"
    for row in connection.execute(text("PRAGMA foreign_key_check")):
        yield f"table {row[0]}, row {row[1]}: the row of {row[2]} that it refers to is not there"


def of_names(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every series has a name that can be read back."""
    query = select(SeriesRow.id, SeriesRow.metric, SeriesRow.labels).where(SeriesRow.run_id == run_id)
    for row in connection.execute(query):
        try:
            wrong = labels_text(key_of(row.metric, row.labels).labels) != row.labels
        except _UNREADABLE:
            wrong = True
        if wrong:
            yield f"series {row.id} ({row.metric}): its labels {row.labels!r} are not readable"


def of_timelines(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every timeline is the one that its digest says."""
    query = select(Timeline.id, Timeline.digest, Timeline.payload).where(Timeline.run_id == run_id)
    for row in connection.execute(query.execution_options(yield_per=100)):
        try:
            if digest(*decode_timeline(row.payload)) != bytes(row.digest):
                yield f"timeline {row.id}: its digest belongs to another one"
        except CorruptDataError as error:
            yield f"timeline {row.id}: {error}"


def of_config(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether every setting can be read back."""
    query = select(ConfigRow.attempt, ConfigRow.name, ConfigRow.labels, ConfigRow.value)
    for attempt, name, labels, value in connection.execute(query.where(ConfigRow.run_id == run_id)):
        try:
            wrong = labels_text(key_of(name, labels).labels) != labels
            wrong |= not isinstance(json.loads(value), str | int | float | bool)
        except _UNREADABLE:
            wrong = True
        if wrong:
            yield f"config {name} of attempt {attempt}: {labels!r} or {value[:60]!r} is not readable"


def of_states(connection: Connection, run_id: int) -> Iterator[str]:
    """Whether what tells attempts apart, and the keys of accepted batches, can be read."""
    try:
        Attempts.from_json(connection.scalar(select(Run.attempt_state).where(Run.id == run_id)) or {})
    except _UNREADABLE as error:
        yield f"how its attempts are told apart is not readable: {error}"
    try:
        for state in connection.scalars(select(WriterRow.state).where(WriterRow.run_id == run_id)):
            Writer.from_json(state)
    except _UNREADABLE as error:
        yield f"what is remembered of a writer is not readable: {error}"
    wrong = select(func.count()).select_from(AcceptedBatch).where(AcceptedBatch.run_id == run_id)
    if count := connection.scalar(wrong.where(func.length(AcceptedBatch.digest) != _DIGEST)):
        yield f"{counted(count, 'key')} of accepted batches {verb(count, 'is', 'are')} none"


def of_attempts(connection: Connection, run_id: int) -> Iterator[str]:
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
            block = decode_entry(payload)
        except CorruptDataError:
            whole = False  # said of the entry itself
            continue
        begins, ends = ranges(block)
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
