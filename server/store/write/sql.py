"""What a transaction of deliveries writes: one statement a table, however many runs it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import islice
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
from holter.server.database import UNANSWERED
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
from holter.server.store.keys import storable_text, labels_text
from holter.server.store.run_config import MAX_RUN_SETTINGS, rows_to_save
from holter.server.store.write.run_state import RunState, none_if_nan
from holter.server.store.write.run_write import RunWrite
from holter.types import Cursor, Unreadable

_LEAST_TICK = 1e-6  # news must be later than what was news before, even where the clock stands still
_AHEAD = 5.0  # seconds by which servers' clocks may differ
_PLACE = 200  # characters

# made once: composing a statement costs as much as running it
_REVISION = select(RunRecord.id, RunRecord.revision).where(RunRecord.deleted_at.is_(None)).with_for_update()
_OF_ONE = _REVISION.where(RunRecord.id == bindparam("run"))  # half the work, and what a lone flush needs
_OF_SOME = _REVISION.where(RunRecord.id.in_(bindparam("runs", expanding=True))).order_by(
    RunRecord.id  # two servers lock in one order
)
_RUN = (
    select(RunRecord.id)
    .join(Project)
    .where(Project.name == bindparam("project"), RunRecord.name == bindparam("run"))
)
_FIRST = {
    "public_id": bindparam("public_id", type_=Text),
    "project_id": Project.id,
    "name": bindparam("name", type_=Text),
    "created_at": bindparam("now", type_=Double),
    "updated_at": bindparam("now", type_=Double),
    "attempt_state": literal({}, JSON),
    "revision": literal(0),
    "stated": literal(0),
}
_CREATED = (  # nothing, where there is no such project
    insert(RunRecord)
    .from_select([*_FIRST], select(*_FIRST.values()).where(Project.name == bindparam("project")))
    .returning(RunRecord.id)
)
# thousands of new series are one parameter: a dictionary for each costs more than the rows. SQLite's one
# writer gives them their ids by itself, for reading them back would cost twice as much as the rows, too
_LAST_SERIES = text("SELECT seq FROM sqlite_sequence WHERE name = 'series'")
_SERIES_ALIKE = text(
    "INSERT INTO series (id, run_id, metric, labels) "
    "SELECT :first + key, :run, value, :labels FROM json_each(:metrics)"
)
_SERIES_LABELLED = text(
    "INSERT INTO series (id, run_id, metric, labels) "
    "SELECT :first + key, :run, json_extract(value, '$[0]'), json_extract(value, '$[1]') "
    "FROM json_each(:rows)"
)
_SERIES_POSTGRESQL = text(
    # in their order: it numbers the rows after it has sorted them
    "INSERT INTO series (run_id, metric, labels) SELECT (one ->> 0)::integer, one ->> 1, one ->> 2 "
    "FROM json_array_elements(CAST(:rows AS json)) WITH ORDINALITY AS given (one, place) ORDER BY place "
    "RETURNING id"
)
_LOG = insert(LogEntry).inline().execution_options(**UNANSWERED)
_WRITTEN = update(RunRecord).where(RunRecord.id == bindparam("run")).execution_options(**UNANSWERED)
_TAKEN_BACK = (
    delete(AcceptedBatch)
    .where(AcceptedBatch.run_id == bindparam("run"), AcceptedBatch.digest == bindparam("known"))
    .execution_options(**UNANSWERED)
)
_TOLD = select(UnreadableRow.id).where(
    UnreadableRow.run_id == bindparam("run"), UnreadableRow.place == bindparam("where")
)


def find_run(connection: Connection, project: str, run: str) -> int | None:
    """The id of a run, None if there is none."""
    found: int | None = connection.scalar(_RUN, {"project": project, "run": run})
    return found


def create_run(connection: Connection, project: str, name: str, now: float) -> RunState:
    """A new run, and its project if it is the first. Nobody else can write into it before the commit."""
    # made of the names, so that addresses stay the same when a database is built anew
    public_id = blake2b(f"{len(project)}/{project}/{name}".encode(), digest_size=6).hexdigest()
    row = {"project": project, "public_id": public_id, "name": name, "now": now}
    created = connection.scalar(_CREATED, row)
    if created is None:
        connection.execute(insert(Project), {"name": project, "created_at": now})
        created = connection.scalar(_CREATED, row)
    assert created is not None
    return RunState(created, public_id, revision=0, updated_at=now, attempts=Attempts())


def lock_runs(connection: Connection, runs: Iterable[int]) -> dict[int, int]:
    """Keep other servers from writing into these runs until the end; the revision of each."""
    numbers = sorted(runs)
    if len(numbers) == 1:
        rows = connection.execute(_OF_ONE, {"run": numbers[0]})
    else:
        rows = connection.execute(_OF_SOME, {"runs": numbers})
    return {number: revision for number, revision in rows}


def insert_batch_keys(connection: Connection, turns: Iterable[RunWrite]) -> set[tuple[int, bytes]]:
    """Remember the batches for good; those of them that their runs had not had yet."""
    asked = {(turn.run.id, one.digest) for turn in turns for one in turn.parcels}
    rows = [{"run_id": run, "digest": digest} for run, digest in sorted(asked)]
    fresh = connection.execute(_accepted(connection.dialect.name), rows)
    return {(run, bytes(digest)) for run, digest in fresh}


def save_run_writes(connection: Connection, turns: Sequence[RunWrite], now: float) -> None:
    """Write what the turns have made of their deliveries."""
    _save_series(connection, turns)
    _many(connection, _LOG, [row for turn in turns for row in _entries(turn)])
    upsert(
        connection, Attempt.__table__, ("run_id", "number"), [r for turn in turns for r in _attempts(turn)]
    )
    upsert(connection, WriterRow.__table__, ("run_id", "name"), [r for turn in turns for r in _writers(turn)])
    _save_config(connection, turns)
    _save_runs(connection, turns, now)
    undone = [{"run": turn.run.id, "known": digest} for turn in turns for digest in turn.undone]
    _many(connection, _TAKEN_BACK, undone)
    for turn in turns:
        _save_notes(connection, turn.run, turn.notes, now)


def _many(connection: Connection, statement: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(statement, rows)


def _save_series(connection: Connection, turns: Sequence[RunWrite]) -> None:
    turns = [turn for turn in turns if turn.new]
    if not turns:
        return
    if connection.dialect.name == "sqlite":
        last = connection.scalar(_LAST_SERIES) or 0
        for turn in turns:
            _save_numbered(connection, turn, last + 1)
            last += len(turn.new)
        return
    keys = [(turn.run.id, key.metric, labels_text(key.labels)) for turn in turns for key in turn.new]
    ids = iter(sorted(connection.scalars(_SERIES_POSTGRESQL, {"rows": _as_json(keys)})))
    for turn in turns:
        turn.run.ids.extend(islice(ids, len(turn.new)))


def _save_numbered(connection: Connection, turn: RunWrite, first: int) -> None:
    """The new series of a run, with ids from `first` on."""
    labels, whose = turn.new[0].labels, {"first": first, "run": turn.run.id}
    if all(key.labels == labels for key in turn.new):
        metrics = _as_json([key.metric for key in turn.new])
        connection.execute(_SERIES_ALIKE, whose | {"labels": labels_text(labels), "metrics": metrics})
    else:
        rows = _as_json([(key.metric, labels_text(key.labels)) for key in turn.new])
        connection.execute(_SERIES_LABELLED, whose | {"rows": rows})
    turn.run.ids.extend(range(first, first + len(turn.new)))


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _entries(turn: RunWrite) -> Iterable[dict[str, Any]]:
    for entry in turn.entries:
        yield {
            "run_id": turn.run.id,
            "attempt": entry.attempt,
            "step_min": entry.step_min,
            "step_max": entry.step_max,
            "points": entry.points,
            "payload": encode_log_entry(turn.run.ids_at(entry.places), entry.body),
        }


def _attempts(turn: RunWrite) -> Iterable[dict[str, Any]]:
    for number in sorted(turn.touched):
        facts = turn.run.facts[number]
        first_step, last_step = turn.run.progress[number].step_range(turn.run.aside)
        yield {
            "run_id": turn.run.id,
            "number": number,
            "name": facts.name,
            "first_step": first_step,
            "last_step": last_step,
            "first_time": none_if_nan(facts.first_time),
            "last_time": none_if_nan(facts.last_time),
            "points": facts.points,
        }


def _writers(turn: RunWrite) -> Iterable[dict[str, Any]]:
    for name in sorted(turn.writers):
        writer = turn.run.attempts.writers[name]
        stated = bool(writer.config)
        yield {"run_id": turn.run.id, "name": name, "state": writer.to_json(), "stated": stated}


def _save_config(connection: Connection, turns: Iterable[RunWrite]) -> None:
    for turn in turns:
        if turn.config:
            rows, over = rows_to_save(connection, turn.run.id, turn.config)
            upsert(connection, ConfigRow.__table__, ("run_id", "attempt", "name", "labels"), rows)
            if over:
                reason = f"the run has {MAX_RUN_SETTINGS:,} settings: {over:,} more {verb(over, 'is', 'are')} left out"
                turn.notes.append(Unreadable(source="config", location="settings of the run", reason=reason))


def _save_runs(connection: Connection, turns: Sequence[RunWrite], now: float) -> None:
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for turn in turns:
        values = _changes(turn, now)
        if values:
            by_columns.setdefault(tuple(values), []).append({"run": turn.run.id} | values)
    for rows in by_columns.values():
        connection.execute(_WRITTEN, rows)


def _changes(turn: RunWrite, now: float) -> dict[str, Any]:
    """What of the run's row is new."""
    run, values = turn.run, dict[str, Any]()
    if turn.fresh:
        run.revision += 1
        if turn.told or not turn.commits:  # what watches machines goes on when training does not
            run.updated_at = _later(now, run.updated_at)
        values = {"revision": run.revision, "updated_at": run.updated_at}
    if turn.stated:
        run.stated += 1
        values["stated"] = run.stated
    if turn.renamed:
        values["attempt_state"] = run.attempts.run_state()
    if turn.begun:
        values["finished_at"] = None  # a run that is launched again is not finished any more
    if turn.finished:
        values["finished_at"] = max(now, run.updated_at)
    return values


def _later(now: float, before: float) -> float:
    """`now`, but later than what was before it, if that is not from a clock that was ahead."""
    return now if now > before or before - now > _AHEAD else before + _LEAST_TICK


def _save_notes(connection: Connection, run: RunState, notes: Sequence[Unreadable], now: float) -> None:
    for note in notes:
        where = storable_text(note.location)[:_PLACE]
        if connection.scalar(_TOLD, {"run": run.id, "where": where}) is None:
            row = {
                "run_id": run.id,
                "source": note.source,
                "place": where,
                "reason": storable_text(note.reason),
            }
            connection.execute(insert(UnreadableRow), row | {"seen_at": now})


def save_cursors(connection: Connection, cursors: Sequence[Cursor], now: float) -> None:
    """Remember how far sources have been read; of several cursors of a source the last one."""
    newest = {cursor.source: cursor for cursor in cursors}
    rows = [
        {
            "source": one.source,
            "format": one.format,
            "offset": one.offset,
            "identity": one.identity,
            "state": dict(one.state),
            "updated_at": now,
        }
        for _, one in sorted(newest.items())
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
    return statement.execution_options(**UNANSWERED)


def upsert(connection: Connection, table: Any, key: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """Insert rows, or change those that have the same key."""
    if rows:
        connection.execute(_upsert_statement(connection.dialect.name, table, key), rows)
