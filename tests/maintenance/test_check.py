"""`holter db check` finds what was changed, in whichever table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, text

from holter.server.database import connect, writing
from holter.server.maintenance.downsampling import downsample_run
from holter.server.store import Store
from holter.server.store.compaction.summary import load_summary, save_summary
from holter.server.store.read.snapshot import RunSnapshot
from holter.types import SeriesKey
from tests.support.stored_runs import LOSS, delivery

FLIPPED = [
    ("chunk", "payload"), ("chunk", "pyramid"), ("timeline", "payload"), ("timeline", "digest"),
    ("log", "payload"), ("summary", "chunks"), ("summary", "log"), ("summary", "names"),
]  # fmt: skip
CHANGED = [
    ("chunk", "series_id", "series_id + 1"), ("chunk", "attempt", "5"),
    ("chunk", "step_min", "step_min - 1"),
    ("chunk", "step_max", "step_max + 1"), ("chunk", "points", "points + 1"),
    ("chunk", "logged", "logged + 1"),
    ("chunk", "nonfinite", "nonfinite + 1"), ("chunk", "value_min", "value_min - 1"),
    ("chunk", "value_max", "NULL"), ("log", "attempt", "5"), ("log", "step_min", "step_min - 1"),
    ("log", "step_max", "step_max + 1"), ("log", "points", "points - 1"), ("attempt", "number", "3"),
    ("attempt", "points", "1"), ("attempt", "first_step", "first_step + 1"),
    ("attempt", "last_step", "last_step - 1"), ("series", "labels", "'[[\"a\"'"),
    ("series", "labels", "'[ ]'"), ("series", "metric", "'renamed'"),
    ("run", "attempt_state", "'{\"names\": 7}'"), ("writer", "state", "'{}'"),
]  # fmt: skip


@pytest.fixture
def damaged(engine: Engine) -> Engine:
    """A run with thinned chunks, whole ones, a log, two attempts: not damaged yet."""
    store = Store(engine)
    store.start()
    steps = np.arange(40_000)
    values = np.where(steps == 7, np.nan, np.cos(steps))
    run_id = store.accept(delivery(steps, {LOSS: values, SeriesKey("lr"): values[::-1]}, batch_id="0")).run_id
    store.compact(run_id)
    downsample_run(engine, run_id, 100, 1.7e9)
    more = np.arange(40_000, 50_000)
    store.accept(delivery(more, {LOSS: np.sin(more)}, batch_id="1", attempt="1"))
    store.compact(run_id)
    store.accept(delivery(more[:9] + 10_000, {LOSS: np.sin(more[:9])}, batch_id="2", attempt="1"))
    store.compact(run_id)
    assert store.check() == []
    store.close()
    return engine


def first_of(table: str) -> str:
    return {"summary": "run_id", "writer": "run_id", "attempt": "number"}.get(table, "id")


@pytest.mark.parametrize(("table", "column"), FLIPPED)
def test_a_flipped_bit_is_found(damaged: Engine, table: str, column: str) -> None:
    key = first_of(table)
    with writing(damaged) as connection:
        rows = connection.execute(text(f"SELECT {key}, {column} FROM {table} ORDER BY {key}")).all()
        number, blob = next((row[0], bytearray(row[1])) for row in rows if row[1])
        blob[len(blob) // 2] ^= 0x10
        change = text(f"UPDATE {table} SET {column} = :blob WHERE {key} = :key")
        connection.execute(change, {"blob": bytes(blob), "key": number})
    assert Store(damaged).check()


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column", "value"), CHANGED)
def test_a_changed_row_is_found(damaged: Engine, table: str, column: str, value: str) -> None:
    key = first_of(table)
    with writing(damaged) as connection:
        number = connection.scalar(text(f"SELECT min({key}) FROM {table}"))
        if column == "attempt":  # of several, one without which nothing is left
            connection.execute(text(f"UPDATE {table} SET {column} = {value}"))
        else:
            connection.execute(
                text(f"UPDATE {table} SET {column} = {value} WHERE {key} = :key"), {"key": number}
            )
    assert Store(damaged).check()


@pytest.mark.parametrize("table", ["chunk", "timeline", "log", "attempt", "summary"])
def test_a_missing_row_is_found(damaged: Engine, table: str) -> None:
    if table == "timeline" and damaged.dialect.name == "postgresql":
        return  # PostgreSQL itself refuses
    with damaged.connect() as connection:
        if damaged.dialect.name == "sqlite":
            connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        key = first_of(table)
        connection.execute(text(f"DELETE FROM {table} WHERE {key} = (SELECT min({key}) FROM {table})"))
        connection.commit()
    assert Store(damaged).check()


def test_a_damaged_page_of_a_file_is_found(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    schema_pages = path.stat().st_size // 8192  # the empty tables
    engine = connect(sqlite_url)
    store = Store(engine)
    store.start()
    steps = np.arange(5000)
    for at in range(30):
        store.accept(delivery(steps, {LOSS: np.cos(steps)}, batch_id=str(at), run=str(at)))
    store.close()
    engine.dispose()
    content = bytearray(path.read_bytes())
    for page in range(schema_pages + 1, len(content) // 8192, 7):
        content[page * 8192 : page * 8192 + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert Store(engine).check()
    engine.dispose()


@pytest.mark.parametrize("column", ["attempt", "step", "time", "value"])
def test_wrong_newest_point_is_found(damaged: Engine, column: str) -> None:
    with writing(damaged) as connection:
        run_id = connection.scalar(text("SELECT min(run_id) FROM summary"))
        assert run_id is not None
        stored = load_summary(RunSnapshot(connection, run_id))
        wrong = getattr(stored.chunks, column).copy()
        wrong[0] -= 1
        save_summary(connection, run_id, replace(stored, chunks=stored.chunks._replace(**{column: wrong})))
    assert Store(damaged).check() == [
        "run 'a': series statistics: the newest points are not the last ones of the chunks"
    ]
