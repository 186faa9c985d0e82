"""The statements of a write transaction: one per table, however many runs it covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import count, islice
from typing import Any

import msgspec
from sqlalchemy import (
    JSON,
    Connection,
    Double,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from holter.attempts import Attempts
from holter.plurals import verb
from holter.server.database import PIPELINED
from holter.server.models import (
    AcceptedBatch,
    Attempt,
    ConfigRow,
    LogEntry,
    Project,
    RunRecord,
    SourceCursor,
    UnreadableRow,
    WriterRow,
)
from holter.server.store.encoding.block import encode_log_entry
from holter.server.store.keys import labels_text, storable_text
from holter.server.store.run_config import MAX_RUN_SETTINGS, rows_to_save
from holter.server.store.write.run_state import RunState, none_if_nan
from holter.server.store.write.run_write import RunWrite
from holter.types import Cursor, Unreadable

_MIN_TICK = 1e-6  # `updated_at` must increase even while the clock stands still
_MAX_CLOCK_SKEW = 5.0  # seconds between the clocks of servers
_MAX_PLACE = 200  # characters

# composed once: composing a statement costs as much as running it
_LOCK_RUNS = select(RunRecord.id, RunRecord.revision).where(RunRecord.deleted_at.is_(None)).with_for_update()
_LOCK_ONE = _LOCK_RUNS.where(
    RunRecord.id == bindparam("run")
)  # half the time, and all that a flush of one run needs
_LOCK_SEVERAL = _LOCK_RUNS.where(RunRecord.id.in_(bindparam("runs", expanding=True))).order_by(
    RunRecord.id  # the same order on all servers
)
_FIND_RUN = (
    select(RunRecord.id)
    .join(Project)
    .where(Project.name == bindparam("project"), RunRecord.name == bindparam("run"))
)
_FIND_PUBLIC_ID = select(RunRecord.id).where(RunRecord.public_id == bindparam("public_id"))
_NEW_RUN = {
    "public_id": bindparam("public_id", type_=Text),
    "project_id": Project.id,
    "name": bindparam("name", type_=Text),
    "created_at": bindparam("now", type_=Double),
    "updated_at": bindparam("now", type_=Double),
    "attempt_state": literal({}, JSON),
    "revision": literal(0),
    "stated": literal(0),
}
_CREATE_RUN = (  # returns no row where the project is missing
    insert(RunRecord)
    .from_select([*_NEW_RUN], select(*_NEW_RUN.values()).where(Project.name == bindparam("project")))
    .returning(RunRecord.id)
)
# thousands of new series are one JSON parameter: a dictionary for each costs more than inserting the rows.
# SQLite has one writer, which assigns the ids itself: reading them back would cost twice as much again
_LAST_SERIES_ID = text("SELECT seq FROM sqlite_sequence WHERE name = 'series'")
_INSERT_SERIES_SAME_LABELS = text(
    "INSERT INTO series (id, run_id, metric, labels) "
    "SELECT :first + key, :run, value, :labels FROM json_each(:metrics)"
)
_INSERT_SERIES = text(
    "INSERT INTO series (id, run_id, metric, labels) "
    "SELECT :first + key, :run, json_extract(value, '$[0]'), json_extract(value, '$[1]') "
    "FROM json_each(:rows)"
)
_INSERT_SERIES_POSTGRESQL = text(
    # PostgreSQL assigns ids after sorting
    "INSERT INTO series (run_id, metric, labels) SELECT (one ->> 0)::integer, one ->> 1, one ->> 2 "
    "FROM json_array_elements(CAST(:rows AS json)) WITH ORDINALITY AS given (one, place) ORDER BY place "
    "RETURNING id"
)
_INSERT_LOG = insert(LogEntry).inline().execution_options(**PIPELINED)
_UPDATE_RUN = update(RunRecord).where(RunRecord.id == bindparam("run")).execution_options(**PIPELINED)
_DELETE_BATCH_KEY = (
    delete(AcceptedBatch)
    .where(AcceptedBatch.run_id == bindparam("run"), AcceptedBatch.digest == bindparam("known"))
    .execution_options(**PIPELINED)
)
_FIND_NOTE = select(UnreadableRow.id).where(
    UnreadableRow.run_id == bindparam("run"), UnreadableRow.place == bindparam("where")
)


def find_run(connection: Connection, project: str, run: str) -> int | None:
    """Return the id of a run, None if there is none."""
    run_id: int | None = connection.scalar(_FIND_RUN, {"project": project, "run": run})
    return run_id


def create_run(connection: Connection, project: str, name: str, now: float) -> RunState:
    """Insert a run, and its project if it is new; no other server sees the run before the commit."""
    public_id = _free_public_id(connection, project, name)
    row = {"project": project, "public_id": public_id, "name": name, "now": now}
    run_id = connection.scalar(_CREATE_RUN, row)
    if run_id is None:
        connection.execute(insert(Project), {"name": project, "created_at": now})
        run_id = connection.scalar(_CREATE_RUN, row)
    assert run_id is not None
    return RunState(run_id, public_id, revision=0, updated_at=now, attempts=Attempts())


def _free_public_id(connection: Connection, project: str, name: str) -> str:
    """A hash of the names, so that addresses stay the same when a database is built again.

    Another run may have the same: 48 bits collide on purpose within minutes. The next hash is taken then.
    """
    for number in count():
        suffix = f"#{number}" if number else ""
        names = f"{len(project)}/{project}/{name}{suffix}".encode()
        public_id = blake2b(names, digest_size=6).hexdigest()
        if connection.scalar(_FIND_PUBLIC_ID, {"public_id": public_id}) is None:
            break
    return public_id


def lock_runs(connection: Connection, runs: Iterable[int]) -> dict[int, int]:
    """Lock the rows of these runs until the end of the transaction; returns the revision of each."""
    numbers = sorted(runs)
    if len(numbers) == 1:
        rows = connection.execute(_LOCK_ONE, {"run": numbers[0]})
    else:
        rows = connection.execute(_LOCK_SEVERAL, {"runs": numbers})
    return {number: revision for number, revision in rows}


def insert_batch_keys(connection: Connection, run_writes: Iterable[RunWrite]) -> set[tuple[int, bytes]]:
    """Insert the idempotency keys of the deliveries; returns those that are new."""
    keys = {
        (run_write.run.id, encoded.digest) for run_write in run_writes for encoded in run_write.deliveries
    }
    rows = [{"run_id": run, "digest": digest} for run, digest in sorted(keys)]
    fresh = connection.execute(_accepted(connection.dialect.name), rows)
    return {(run, bytes(digest)) for run, digest in fresh}


def save_run_writes(connection: Connection, run_writes: Sequence[RunWrite], now: float) -> None:
    """Write the rows that the run writes have collected."""
    _save_series(connection, run_writes)
    _execute_many(connection, _INSERT_LOG, [row for run_write in run_writes for row in _entries(run_write)])
    upsert(
        connection,
        Attempt.__table__,
        ("run_id", "number"),
        [row for run_write in run_writes for row in _attempts(run_write)],
    )
    upsert(
        connection,
        WriterRow.__table__,
        ("run_id", "name"),
        [row for run_write in run_writes for row in _writers(run_write)],
    )
    _save_config(connection, run_writes)
    _save_runs(connection, run_writes, now)
    rejected = [
        {"run": run_write.run.id, "known": digest}
        for run_write in run_writes
        for digest in run_write.rejected_digests
    ]
    _execute_many(connection, _DELETE_BATCH_KEY, rejected)
    for run_write in run_writes:
        _save_notes(connection, run_write.run, run_write.notes, now)


def _execute_many(connection: Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(statement, rows)


def _save_series(connection: Connection, run_writes: Sequence[RunWrite]) -> None:
    run_writes = [run_write for run_write in run_writes if run_write.new]
    if not run_writes:
        return
    if connection.dialect.name == "sqlite":
        last = connection.scalar(_LAST_SERIES_ID) or 0
        for run_write in run_writes:
            _save_numbered(connection, run_write, last + 1)
            last += len(run_write.new)
        return
    keys = [
        (run_write.run.id, key.metric, labels_text(key.labels))
        for run_write in run_writes
        for key in run_write.new
    ]
    ids = iter(sorted(connection.scalars(_INSERT_SERIES_POSTGRESQL, {"rows": _as_json(keys)})))
    for run_write in run_writes:
        run_write.run.ids.extend(islice(ids, len(run_write.new)))


def _save_numbered(connection: Connection, run_write: RunWrite, first: int) -> None:
    """Insert the new series of a run, with ids from `first` on."""
    labels, parameters = run_write.new[0].labels, {"first": first, "run": run_write.run.id}
    if all(key.labels == labels for key in run_write.new):
        metrics = _as_json([key.metric for key in run_write.new])
        connection.execute(
            _INSERT_SERIES_SAME_LABELS, parameters | {"labels": labels_text(labels), "metrics": metrics}
        )
    else:
        rows = _as_json([(key.metric, labels_text(key.labels)) for key in run_write.new])
        connection.execute(_INSERT_SERIES, parameters | {"rows": rows})
    run_write.run.ids.extend(range(first, first + len(run_write.new)))


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _entries(run_write: RunWrite) -> Iterable[dict[str, Any]]:
    for entry in run_write.entries:
        yield {
            "run_id": run_write.run.id,
            "attempt": entry.attempt,
            "step_min": entry.step_min,
            "step_max": entry.step_max,
            "points": entry.points,
            "payload": encode_log_entry(run_write.run.ids_of(entry.indices), entry.body),
        }


def _attempts(run_write: RunWrite) -> Iterable[dict[str, Any]]:
    for number in sorted(run_write.touched):
        record = run_write.run.attempt_records[number]
        first_step, last_step = run_write.run.progress[number].step_range(run_write.run.own_step_series)
        yield {
            "run_id": run_write.run.id,
            "number": number,
            "name": record.name,
            "first_step": first_step,
            "last_step": last_step,
            "first_time": none_if_nan(record.first_time),
            "last_time": none_if_nan(record.last_time),
            "points": record.points,
        }


def _writers(run_write: RunWrite) -> Iterable[dict[str, Any]]:
    for name in sorted(run_write.writers):
        writer = run_write.run.attempts.writers[name]
        stated = bool(writer.config)
        yield {"run_id": run_write.run.id, "name": name, "state": writer.to_json(), "stated": stated}


def _save_config(connection: Connection, run_writes: Iterable[RunWrite]) -> None:
    for run_write in run_writes:
        if run_write.config:
            rows, over = rows_to_save(connection, run_write.run.id, run_write.config)
            upsert(connection, ConfigRow.__table__, ("run_id", "attempt", "name", "labels"), rows)
            if over:
                left_out = f"{over:,} more {verb(over, 'is', 'are')} left out"
                reason = f"the run has {MAX_RUN_SETTINGS:,} settings: {left_out}"
                run_write.notes.append(
                    Unreadable(source="config", location="settings of the run", reason=reason)
                )


def _save_runs(connection: Connection, run_writes: Sequence[RunWrite], now: float) -> None:
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for run_write in run_writes:
        values = _changed_columns(run_write, now)
        if values:
            by_columns.setdefault(tuple(values), []).append({"run": run_write.run.id} | values)
    for rows in by_columns.values():
        connection.execute(_UPDATE_RUN, rows)


def _changed_columns(run_write: RunWrite, now: float) -> dict[str, Any]:
    """The changed columns of the run's row."""
    run, values = run_write.run, dict[str, Any]()
    if run_write.has_new_batches:
        run.revision += 1
        if (
            run_write.has_progress or not run_write.commits
        ):  # machine monitoring continues when training has stopped
            run.updated_at = _monotonic(now, run.updated_at)
        values = {"revision": run.revision, "updated_at": run.updated_at}
    if run_write.has_config:
        run.stated += 1
        values["stated"] = run.stated
    if run_write.renamed:
        values["attempt_state"] = run.attempts.run_state()
    if run_write.attempt_started:
        values["finished_at"] = None  # a run that is launched again is no longer finished
    if run_write.finished:
        values["finished_at"] = max(now, run.updated_at)
    return values


def _monotonic(now: float, before: float) -> float:
    """Return `now`, or a moment after `before` where that is not from a clock that was ahead."""
    return now if now > before or before - now > _MAX_CLOCK_SKEW else before + _MIN_TICK


def _save_notes(connection: Connection, run: RunState, notes: Sequence[Unreadable], now: float) -> None:
    for note in notes:
        place = storable_text(note.location)[:_MAX_PLACE]
        if connection.scalar(_FIND_NOTE, {"run": run.id, "where": place}) is None:
            row = {
                "run_id": run.id,
                "source": note.source,
                "place": place,
                "reason": storable_text(note.reason),
            }
            connection.execute(insert(UnreadableRow), row | {"seen_at": now})


def save_cursors(connection: Connection, cursors: Sequence[Cursor], now: float) -> None:
    """Store how far sources have been read; of several cursors of a source the last one."""
    newest = {cursor.source: cursor for cursor in cursors}
    rows = [
        {
            "source": cursor.source,
            "format": cursor.format,
            "offset": cursor.offset,
            "identity": cursor.identity,
            "state": dict(cursor.state),
            "updated_at": now,
        }
        for _, cursor in sorted(newest.items())
    ]
    upsert(connection, SourceCursor.__table__, ("source",), rows)


@cache
def _accepted(dialect: str) -> Any:
    statement: Any = sqlite.insert(AcceptedBatch) if dialect == "sqlite" else postgresql.insert(AcceptedBatch)
    return statement.on_conflict_do_nothing().returning(AcceptedBatch.run_id, AcceptedBatch.digest)


@cache
def _upsert_statement(dialect: str, table: Table, key: tuple[str, ...]) -> Any:
    statement: Any = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    others = [column.name for column in table.columns if column.name not in key and not column.primary_key]
    changes = {name: statement.excluded[name] for name in others}
    statement = statement.on_conflict_do_update(index_elements=list(key), set_=changes)
    return statement.execution_options(**PIPELINED)


def upsert(connection: Connection, table: Any, key: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or update those with the same key."""
    if rows:
        connection.execute(_upsert_statement(connection.dialect.name, table, key), rows)
