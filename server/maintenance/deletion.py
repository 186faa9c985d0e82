"""Deletes runs: hidden at once, then removed row by row in the background."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

from sqlalchemy import ColumnElement, Connection, Engine, Table, delete, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from holter.server.database import reading, writing
from holter.server.models import Base, RunRecord

DELETE_BATCH = 200
"""Rows that one transaction deletes, which blocks ingestion."""
_MAX_ATTEMPTS = 10
"""How often the tables of a run are emptied while others still add rows to it."""

Pause = Callable[[float], object]


def delete_run(engine: Engine, run_id: int, now: float) -> None:
    """Hide a run and free its name; `purge` removes its rows."""
    with writing(engine) as connection:
        # as a write does: caches of the run notice the changed revision
        query = select(RunRecord.revision, RunRecord.public_id).where(
            RunRecord.id == run_id, RunRecord.deleted_at.is_(None)
        )
        run = connection.execute(query.with_for_update()).one_or_none()
        if run is None:
            return
        hidden = {
            "name": f"deleted {run_id} {run.public_id}",
            "public_id": f"-{run_id}",  # no address matches it
            "revision": run.revision + 1,
            "deleted_at": now,
        }
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(hidden))
        for table, condition in run_tables(run_id):
            if table.name in DELETED_WITH_NAME:
                connection.execute(delete(table).where(condition))


DELETED_WITH_NAME = frozenset({"notification", "incident_event", "incident", "analysis"})
"""Tables that pages and channels read without the run: few rows, deleted when the run is hidden."""


def purge(engine: Engine, *, pause: Pause = time.sleep, stopping: Callable[[], bool] = lambda: False) -> int:
    """Remove the rows of deleted runs in short transactions; returns how many runs were removed.

    An interrupted call can be repeated.
    """
    with reading(engine) as connection:
        runs = connection.scalars(select(RunRecord.id).where(RunRecord.deleted_at.is_not(None))).all()
    for run_id in runs:
        for attempt in count(1):
            try:
                if not _purge_run(engine, run_id, pause, stopping):
                    return 0
                break
            except IntegrityError:
                # what began before the deletion has added rows to a table that was emptied already
                if attempt == _MAX_ATTEMPTS:
                    raise
    return len(runs)


def _purge_run(engine: Engine, run_id: int, pause: Pause, stopping: Callable[[], bool]) -> bool:
    """Remove the rows of one run; False if stopped before the end."""
    for table, condition in run_tables(run_id):
        while not stopping() and _delete_batch(engine, table, condition, pause) == DELETE_BATCH:
            pass
    if stopping():
        return False
    with writing(engine) as connection:
        # no writer finds the run any more; this waits for those in progress
        connection.execute(select(RunRecord.id).where(RunRecord.id == run_id).with_for_update())
        # rows written meanwhile by a process that had the run cached
        for table, condition in run_tables(run_id):
            connection.execute(delete(table).where(condition))
        connection.execute(delete(RunRecord).where(RunRecord.id == run_id))
    return True


def run_tables(run_id: int) -> list[tuple[Table, ColumnElement[bool]]]:
    """Return every table with rows of a run, and the condition for them; referencing tables first."""
    conditions = ((table, _run_condition(table, run_id)) for table in reversed(Base.metadata.sorted_tables))
    return [(table, condition) for table, condition in conditions if condition is not None]


def _run_condition(table: Table, run_id: int) -> ColumnElement[bool] | None:
    """Return which rows of a table refer to the run, directly or indirectly; None for other tables."""
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    for key in keys:
        if key.column.table.name == RunRecord.__tablename__:
            return key.parent == run_id
    for key in keys:
        parent_condition = _run_condition(key.column.table, run_id)
        if parent_condition is not None:
            return key.parent.in_(select(key.column).where(parent_condition))
    return None


def _delete_batch(engine: Engine, table: Table, condition: ColumnElement[bool], pause: Pause) -> int:
    started = time.monotonic()
    with writing(engine) as connection:
        deleted = _delete_some(connection, table, condition)
    # yields to waiting writers: SQLite's lock has no queue
    pause(min(1.0, time.monotonic() - started))
    return deleted


def _delete_some(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    key = list(table.primary_key)
    rows = connection.execute(select(*key).where(condition).limit(DELETE_BATCH)).all()
    if not rows:
        return 0
    return connection.execute(delete(table).where(tuple_(*key).in_([tuple(row) for row in rows]))).rowcount
