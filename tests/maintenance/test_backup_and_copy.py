"""Backups while everything goes on, and moves from one database into another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, insert, select

from holter.server.database import connect, reading, writing
from holter.server.maintenance.backup import back_up, restore
from holter.server.maintenance.copy_database import CopyError, copy_database
from holter.server.models import AcceptedBatch, NotificationRow, RunRecord, Token
from holter.server.store import Store
from holter.types import Cursor
from tests.support.servers import Printed
from tests.support.stored_runs import LOSS, add_incident, all_rows, delivery, points_of, run_id_of, some_run

BATCH = 700


@contextmanager
def under_load(engine: Engine) -> Iterator[Callable[[], int]]:
    """A store into which batches go, while it compacts; gives how many were acknowledged so far."""
    store, stop, numbers = Store(engine), threading.Event(), count()
    acknowledged: list[int] = []
    store.start()

    def send() -> None:
        while not stop.is_set():
            number = next(numbers)
            steps = np.arange(number * BATCH, (number + 1) * BATCH)
            store.accept(delivery(steps, {LOSS: np.sin(steps)}, batch_id=str(number)))
            acknowledged.append(number)

    def compact() -> None:
        while not stop.wait(0.005):
            store.compact()

    threads = [threading.Thread(target=work) for work in (send, compact)]
    for thread in threads:
        thread.start()
    try:
        yield lambda: len(acknowledged)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        store.close()


@pytest.mark.slow
def test_backup_under_load_is_a_consistent_snapshot(
    engine: Engine, sqlite_template: Path, tmp_path: Path
) -> None:
    with under_load(engine) as acknowledged:
        for turn in range(4):
            while acknowledged() < 8 * (turn + 1):
                threading.Event().wait(0.002)
            before = acknowledged()
            back_up(engine, tmp_path / f"{turn}.backup")
            after = acknowledged()
            fresh = connect(f"sqlite:///{tmp_path / f'{turn}.db'}")
            restore(fresh, tmp_path / f"{turn}.backup")
            assert Store(fresh).check() == []
            series = Store(fresh).read(run_id_of(fresh, "a"))[LOSS]
            batches, rest = divmod(len(series), BATCH)
            assert rest == 0
            assert before <= batches <= after + 1
            assert series.value.tobytes() == np.sin(np.arange(len(series))).tobytes()
            with reading(fresh) as connection:
                assert connection.scalar(select(func.count()).select_from(AcceptedBatch)) == batches
            fresh.dispose()


def furnished(engine: Engine) -> None:
    """A database with something in every kind of table."""
    some_run(engine, "b")
    store = Store(engine)
    store.start()
    steps = np.arange(5000)
    values = np.where(steps % 1000 == 7, np.nan, np.cos(steps))
    store.accept(delivery(steps, {LOSS: values}, batch_id="x"))
    store.compact()
    store.accept(delivery(steps[:5] + 5000, {LOSS: values[:5]}, batch_id="y"))
    store.save_cursor(
        Cursor(source="/log", format="csv", offset=2**40, identity="i", state={"b": [1], "a": None})
    )
    store.close()
    incident = add_incident(engine, run_id_of(engine, "a"), start=7, end=9)
    with writing(engine) as connection:
        connection.execute(insert(Token).values(name="ci", digest="0" * 64, created_at=1.5))
        connection.execute(
            insert(NotificationRow).values(
                incident_id=incident, channel="slack", key="1.0.slack", reason="opened", detail={"x": 1.5},
                state="waiting", attempts=2, next_try_at=0.1, created_at=0.1,
            )
        )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite")]
)
def test_copied_database_is_complete_and_usable(
    holter: Printed, sqlite_url: str, postgres_url: str, source: str, target: str, tmp_path: Path
) -> None:
    here = sqlite_url if source == "sqlite" else postgres_url
    there = postgres_url if target == "postgresql" else f"sqlite:///{tmp_path / 'there.db'}"
    engine = connect(here)
    furnished(engine)
    before = all_rows(engine)
    code, printed, complaint = holter("db", "move", "--to", there, "--database-url", here)
    assert code == 0, complaint
    assert "every row, checksum and count verified" in printed
    assert ("chunk", "1") in {tuple(line.split()) for line in printed.splitlines()}
    moved = connect(there)
    assert all_rows(moved) == before == all_rows(engine)
    assert points_of(moved, run_id_of(moved, "a")) == points_of(engine, run_id_of(engine, "a"))
    some_run(moved, "c")  # ids go on where they were
    assert Store(moved).cursor("/log") == Store(engine).cursor("/log")
    code, _, complaint = holter("db", "move", "--to", there, "--database-url", here)
    assert code == 1
    assert "not empty" in complaint
    moved.dispose()
    engine.dispose()


def test_copy_is_refused_while_a_server_uses_the_file(
    holter: Printed, sqlite_engine: Engine, sqlite_url: str, tmp_path: Path
) -> None:
    store = Store(sqlite_engine)
    store.start()
    there = f"sqlite:///{tmp_path / 'there.db'}"
    code, _, complaint = holter("db", "move", "--to", there, "--database-url", sqlite_url)
    store.close()
    assert code == 1
    assert "in use by another Holter server" in complaint
    assert holter("db", "move", "--to", "nonsense", "--database-url", sqlite_url)[0] == 1
    assert "is copied from" in holter("db", "move", "--to", sqlite_url, "--database-url", sqlite_url)[2]


def test_write_during_a_copy_is_detected_and_nothing_is_copied(postgres_url: str, tmp_path: Path) -> None:
    engine, target = connect(postgres_url), connect(f"sqlite:///{tmp_path / 'there.db'}")
    with under_load(engine) as acknowledged:
        while acknowledged() < 20:
            threading.Event().wait(0.002)
        with pytest.raises(CopyError, match="points were written meanwhile"):
            copy_database(engine, target)
    with reading(target) as connection:
        assert connection.scalar(select(func.count()).select_from(RunRecord)) == 0
    copy_database(engine, target)
    assert all_rows(target) == all_rows(engine)
    engine.dispose()
    target.dispose()
