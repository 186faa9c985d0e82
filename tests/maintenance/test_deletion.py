"""Deleting a run: it is gone at once, everything it held soon after, and nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from sqlalchemy import Engine, func, insert, select

from holter.server.database import connect, reading, writing
from holter.server.maintenance import deletion
from holter.server.maintenance.deletion import delete_run, purge, run_tables
from holter.server.models import Base, Chunk, RunRecord
from holter.server.store import Store
from holter.types import Cursor, Unreadable
from tests.support.stored_runs import LOSS, add_incident, all_rows, delivery, points_of, run_id_of

KEPT_BY_ALL = {
    "agent", "ended_session", "project", "run", "saved_view", "share_link", "silence", "source_cursor",
    "token",
}  # fmt: skip
"""What belongs to no single run. A table that is neither here nor leads to a run is forgotten."""


def fill(store: Store, engine: Engine, name: str) -> int:
    steps = np.arange(900)
    for at in range(3):
        cursor = Cursor(source=f"/{name}", format="csv", offset=at, identity="i")
        one = delivery(steps + 900 * at, {LOSS: np.cos(steps)}, batch_id=str(at), run=name)
        run_id = store.accept(one).run_id
        store.compact(run_id)
        store.save_cursor(cursor)
    store.accept(delivery(steps[:3] + 2700, {LOSS: np.cos(steps[:3])}, batch_id="log", run=name))
    unreadable = Unreadable(
        source=f"/{name}", location="line 1", reason="nothing there", project="llm", run=name
    )
    store.report_unreadable(unreadable)
    add_incident(engine, run_id, start=100, end=140)
    return run_id


def held(engine: Engine, run_id: int) -> dict[str, int]:
    with reading(engine) as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table).where(whose)) or 0
            for table, whose in run_tables(run_id)
        }


def test_every_table_belongs_to_a_run_or_is_global() -> None:
    assert {table.name for table, _ in run_tables(1)} | KEPT_BY_ALL == set(Base.metadata.tables)


def test_a_deleted_run_is_gone_at_once_and_leaves_nothing(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, engine, "other")
    before = all_rows(engine)
    run_id = fill(store, engine, "a")
    assert min(held(engine, run_id)[name] for name in ("chunk", "timeline", "log", "incident", "unreadable"))
    delete_run(engine, run_id, time.time())
    delete_run(engine, run_id, time.time())
    assert held(engine, run_id)["incident"] == 0
    assert store.check() == []
    monkeypatch.setattr(deletion, "DELETE_BATCH", 2)
    assert purge(engine, pause=lambda seconds: None) == 1
    assert not any(held(engine, run_id).values())
    after = all_rows(engine)
    assert after.pop("source_cursor") != before.pop("source_cursor")  # files are not read again
    assert after == before
    assert purge(engine) == 0
    assert store.check() == []


def test_points_after_deletion_make_a_new_run(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine, "a")
    delete_run(engine, run_id, time.time())
    again = store.accept(delivery(np.array([1]), {LOSS: np.array([2.0])}, batch_id="0"))
    assert not again.duplicate
    assert again.run_id != run_id
    purge(engine)
    assert store.read(again.run_id)[LOSS].value.tolist() == [2.0]
    assert run_id_of(engine, "a") == again.run_id
    assert not store.accept(delivery(np.array([2]), {LOSS: np.array([3.0])}, batch_id="1")).duplicate


def test_writers_continue_during_a_large_deletion(store: Store, engine: Engine) -> None:
    steps = np.arange(20)
    parts = [delivery(steps + 20 * at, {LOSS: np.cos(steps)}, batch_id=str(at)) for at in range(900)]
    run_id = [store.submit(part) for part in parts][-1].result(60).run_id
    delete_run(engine, run_id, time.time())
    slept = []

    def write(seconds: float) -> None:
        begin = time.monotonic()
        one = delivery(np.array([len(slept)]), {LOSS: np.array([1.0])}, batch_id=str(len(slept)), run="b")
        store.accept(one)
        slept.append(time.monotonic() - begin)

    purge(engine, pause=write)
    assert len(slept) > 6
    assert max(slept) < 60


def test_rows_that_a_compaction_adds_to_a_deleted_run_are_removed_too(store: Store, engine: Engine) -> None:
    run_id = fill(store, engine, "a")
    delete_run(engine, run_id, time.time())
    with reading(engine) as connection:
        chunks = [dict(row) for row in connection.execute(select(Chunk.__table__)).mappings()]
    rounds = []

    def add_chunks(_: float) -> None:
        with writing(engine) as connection:
            if len(rounds) < 3 and not connection.scalar(select(func.count()).select_from(Chunk)):
                rounds.append(connection.execute(insert(Chunk), chunks))

    assert purge(engine, pause=add_chunks) == 1
    assert len(rounds) == 3
    assert not any(held(engine, run_id).values())


PROGRAM = """
import os, sys, threading, time
from holter.server.database import connect
from holter.server.maintenance import deletion
deletion.DELETE_BATCH = 3
threading.Timer(float(sys.argv[2]), os._exit, (9,)).start()
deletion.purge(connect(sys.argv[1]), pause=lambda seconds: time.sleep(0.001))
os._exit(0)
"""


def test_killed_deletion_is_resumed(store: Store, engine: Engine, database_url: str) -> None:
    other = fill(store, engine, "other")
    before = points_of(engine, other)
    run_id = fill(store, engine, "a")
    for at in range(200):
        store.submit(delivery(np.array([at]), {LOSS: np.array([1.0])}, batch_id=f"more {at}"))
    store.accept(delivery(np.array([9]), {LOSS: np.array([1.0])}, batch_id="end"))
    delete_run(engine, run_id, time.time())
    for after in (0.02, 0.1):
        subprocess.run([sys.executable, "-c", PROGRAM, database_url, str(after)], timeout=60)
        assert store.check() == []
    purge(engine)
    with reading(engine) as connection:
        assert connection.scalars(select(RunRecord.name)).all() == ["other"]
    assert points_of(engine, other) == before
    assert store.check() == []


def test_ids_of_deleted_runs_are_not_used_again(sqlite_url: str) -> None:
    engine = connect(sqlite_url)
    store = Store(engine)
    store.start()
    run_id = fill(store, engine, "a")
    delete_run(engine, run_id, time.time())
    purge(engine)
    assert fill(store, engine, "b") > run_id
    store.close()
    engine.dispose()
