"""Deletes runs: gone for everybody at once, then everything that belongs to them, bit by bit."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import ColumnElement, Connection, Engine, Table, delete, select, tuple_, update

from holter.server.database import reading, writing
from holter.server.models import Base, RunRecord

PORTION = 200
"""Rows that one transaction deletes: ingest waits for no more."""

Pause = Callable[[float], object]


def delete_run(engine: Engine, run_id: int, now: float) -> None:
    """Nobody sees the run any more; its name is free for another one. `purge` removes what it holds."""
    with writing(engine) as connection:
        # as when points are written: who remembers the run finds that it has changed
        query = select(RunRecord.revision, RunRecord.public_id).where(
            RunRecord.id == run_id, RunRecord.deleted_at.is_(None)
        )
        run = connection.execute(query.with_for_update()).one_or_none()
        if run is None:
            return
        hidden = {
            "name": f"deleted {run_id} {run.public_id}",
            "public_id": f"-{run_id}",  # no address leads to it
            "revision": run.revision + 1,
            "deleted_at": now,
        }
        connection.execute(update(RunRecord).where(RunRecord.id == run_id).values(hidden))
        for table, whose in belongings(run_id):
            if table.name in SHOWN:
                connection.execute(delete(table).where(whose))


SHOWN = frozenset({"notification", "incident_event", "incident", "analysis"})
"""What pages and channels show without asking for the run: few rows, so they go with its name."""


def purge(engine: Engine, *, pause: Pause = time.sleep, stopping: Callable[[], bool] = lambda: False) -> int:
    """Remove what deleted runs hold, in short transactions with pauses between; how many runs are gone.

    May be ended at any moment: the next one goes on.
    """
    with reading(engine) as connection:
        runs = connection.scalars(select(RunRecord.id).where(RunRecord.deleted_at.is_not(None))).all()
    for run_id in runs:
        for table, whose in belongings(run_id):
            while not stopping() and _in_turn(engine, table, whose, pause) == PORTION:
                pass
        if stopping():
            return 0
        with writing(engine) as connection:
            # nobody can add to it any more; who is adding comes first
            connection.execute(select(RunRecord.id).where(RunRecord.id == run_id).with_for_update())
            for table, whose in belongings(run_id):  # what somebody wrote meanwhile who had not heard of it
                connection.execute(delete(table).where(whose))
            connection.execute(delete(RunRecord).where(RunRecord.id == run_id))
    return len(runs)


def belongings(run_id: int) -> list[tuple[Table, ColumnElement[bool]]]:
    """Every table with rows of a run and which they are, those first to which no other refers."""
    found = ((table, _whose(table, run_id)) for table in reversed(Base.metadata.sorted_tables))
    return [(table, whose) for table, whose in found if whose is not None]


def _whose(table: Table, run_id: int) -> ColumnElement[bool] | None:
    """Which rows of a table lead to the run, however indirectly; None where none can."""
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    for key in keys:
        if key.column.table.name == RunRecord.__tablename__:
            return key.parent == run_id
    for key in keys:
        above = _whose(key.column.table, run_id)
        if above is not None:
            return key.parent.in_(select(key.column).where(above))
    return None


def _in_turn(engine: Engine, table: Table, whose: ColumnElement[bool], pause: Pause) -> int:
    began = time.monotonic()
    with writing(engine) as connection:
        deleted = _delete_some(connection, table, whose)
    # others who wait to write come first: SQLite itself knows no order
    pause(min(1.0, time.monotonic() - began))
    return deleted


def _delete_some(connection: Connection, table: Table, whose: ColumnElement[bool]) -> int:
    key = list(table.primary_key)
    some = connection.execute(select(*key).where(whose).limit(PORTION)).all()
    if not some:
        return 0
    return connection.execute(delete(table).where(tuple_(*key).in_([tuple(row) for row in some]))).rowcount
