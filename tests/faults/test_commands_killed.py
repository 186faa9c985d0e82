"""Backup, restore, move, vacuum and import, killed in the middle; a server killed while they are at work."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest
from sqlalchemy import Engine, func, select

from holter.server.database import connect, reading
from holter.server.maintenance.backup import back_up, restore
from holter.server.maintenance.vacuum import vacuum
from holter.server.migrate import upgrade
from holter.server.models import AcceptedBatch, RunRecord
from holter.server.store import Store
from holter.types import SeriesKey
from tests.faults.conftest import Nursery
from tests.faults.feeding import Feeder, assert_all_is_there, feeding
from tests.postgres import Postgres
from tests.stored_runs import delivery, everything, number_of, points
from tests.waiting import wait_for

MOMENTS = 3
"""Kills of each command, at moments that are spread over the time it takes."""


@pytest.fixture
def filled(database_url: str) -> Iterator[Engine]:
    """A database that takes a while to copy: a run in chunks, and one of many batches in the log."""
    engine = connect(database_url)
    store = Store(engine)
    store.start()
    chance = np.random.default_rng(1)
    keys = [SeriesKey(f"m{n}") for n in range(10)]
    steps = np.arange(10_000)
    store.accept(delivery(steps, {key: chance.random(len(steps)) for key in keys}, batch_id="x"))
    store.compact()
    for number in range(50):
        steps = np.arange(number * 50, number * 50 + 50)
        values = {key: chance.random(50) for key in keys}
        store.accept(delivery(steps, values, batch_id=str(number), run="b"))
    store.close()
    yield engine
    engine.dispose()


def killed(nursery: Nursery, after: Callable[[], None], *command: object) -> int:
    """Run a command to its end, and then again and again, killed ever later; how often it was killed."""
    for _ in range(2):  # the first time takes much longer
        began = time.monotonic()
        nursery.begin(*command)
        assert nursery.ended() == 0, nursery.log.read_text()[-2000:]
        took = time.monotonic() - began
        after()
    kills, chance = 0, random.Random(1)
    for moment in range(MOMENTS):
        after()
        nursery.begin(*command)
        time.sleep(took * (moment + chance.random()) / (MOMENTS + 1))
        kills += nursery.end() == -signal.SIGKILL
    after()
    return kills


def test_a_backup_that_was_killed_is_none(
    filled: Engine, database_url: str, nursery: Nursery, tmp_path: Path
) -> None:
    file = tmp_path / "holter.backup"
    before = everything(filled)
    seen = []

    def look() -> None:
        seen.append(file.exists())
        if seen[-1]:
            target = connect(f"sqlite:///{tmp_path / f'restored {len(seen)}.db'}")
            restore(target, file)
            assert everything(target) == before
            target.dispose()
            file.unlink()

    assert killed(nursery, look, "db", "backup", file, "--database-url", database_url)
    assert not all(seen)
    back_up(filled, file)  # what was left of the others is in nobody's way
    look()
    assert sorted(path.name for path in tmp_path.glob("holter.backup*")) == []


@pytest.mark.parametrize("how", ["restore", "move"])
def test_a_database_that_was_being_filled_is_empty_or_whole(
    filled: Engine,
    database_url: str,
    nursery: Nursery,
    tmp_path: Path,
    how: str,
    empty: Callable[[], str],
) -> None:
    before = everything(filled)
    target = empty()
    command: list[object] = ["db", "move", "--to", target, "--database-url", database_url]
    if how == "restore":
        back_up(filled, tmp_path / "backup")
        command = ["db", "restore", tmp_path / "backup", "--database-url", target]
    wholes = []

    def look() -> None:
        there = connect(target)
        with reading(there) as connection:
            wholes.append(bool(connection.scalar(select(func.count()).select_from(RunRecord))))
        if wholes[-1]:
            assert everything(there) == before
        there.dispose()
        if wholes[-1]:
            assert empty() == target

    assert killed(nursery, look, *command)
    assert not all(wholes)
    assert everything(filled) == before
    nursery.begin(*command)
    assert nursery.ended() == 0, nursery.log.read_text()[-2000:]
    look()
    assert wholes[-1]


@pytest.fixture
def empty(database_url: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes a database of the other kind that has nothing in it: the same one anew each time."""
    other = "sqlite" if database_url.startswith("postgresql") else "postgresql"
    if other == "sqlite":
        file = tmp_path / "target.db"

        def anew() -> str:
            for path in tmp_path.glob("target.db*"):
                path.unlink()
            engine = connect(f"sqlite:///{file}")
            upgrade(engine)
            engine.dispose()
            return f"sqlite:///{file}"

        return anew
    cluster: Postgres = request.getfixturevalue("postgres_cluster")
    template: str = request.getfixturevalue("postgres_template")

    def created() -> str:
        with psycopg.connect(cluster.address, autocommit=True) as admin:
            admin.execute("DROP DATABASE IF EXISTS target WITH (FORCE)")
            admin.execute(f"CREATE DATABASE target TEMPLATE {template}")
        return cluster.url("target")

    return created


def test_a_vacuum_that_was_killed_changes_nothing(
    filled: Engine, database_url: str, nursery: Nursery
) -> None:
    before = everything(filled)

    def look() -> None:
        assert everything(filled) == before

    assert killed(nursery, look, "db", "vacuum", "--full", "--database-url", database_url)
    assert Store(filled).check() == []


def test_a_server_that_is_killed_disturbs_no_backup_and_no_vacuum(
    database_url: str, nursery: Nursery, tmp_path: Path
) -> None:
    engine = connect(database_url)
    nursery.serve(database_url)
    feeders = [Feeder(nursery.port, "small"), Feeder(nursery.port, "wide", metrics=40, rows=1000)]
    with feeding(feeders):
        for turn in range(2):
            wait_for(lambda: feeders[1].acknowledged > 4 * (turn + 1), 60)  # noqa: B023
            file = tmp_path / f"{turn}.backup"
            work = threading.Thread(target=lambda: (back_up(engine, file), vacuum(engine)))  # noqa: B023
            work.start()
            time.sleep(0.02 * turn)
            nursery.end()
            nursery.begin("serve", "--database-url", database_url)
            work.join()
            whole(file, tmp_path / f"{turn}.db")
    assert nursery.end(signal.SIGTERM) == 0
    store = Store(engine)
    store.start()
    assert_all_is_there(store, feeders)
    store.close()
    engine.dispose()


def whole(backup: Path, file: Path) -> None:
    """A backup is of one moment: of every batch it has all points, and knows it."""
    engine = connect(f"sqlite:///{file}")
    restore(engine, backup)
    store = Store(engine)
    assert store.check() == []
    with reading(engine) as connection:
        batches = connection.scalar(select(func.count()).select_from(AcceptedBatch))
        runs = {name: number for number, name in connection.execute(select(RunRecord.id, RunRecord.name))}
    stored = [
        sum(attempt.points for attempt in store.attempts(number)) / (40_000 if name == "wide" else 150)
        for name, number in runs.items()
    ]
    assert sum(stored) == batches
    engine.dispose()


def test_an_import_that_was_killed_is_brought_to_its_end_by_the_next(
    filled: Engine, database_url: str, empty: Callable[[], str], nursery: Nursery, tmp_path: Path
) -> None:
    file, target = tmp_path / "a.parquet", empty()
    nursery.begin("export", "a", "--output", file, "--database-url", database_url)
    assert nursery.ended() == 0, nursery.log.read_text()[-2000:]
    before = points(filled, number_of(filled, "a"))
    into = ["import", file, "--database-url", target]

    def go_on() -> None:
        there = connect(target)
        assert Store(there).check() == []
        for _ in range(2):  # the second changes nothing
            nursery.begin(*into)
            assert nursery.ended() == 0, nursery.log.read_text()[-2000:]
            run_id = number_of(there, "a")
            assert points(there, run_id) == before
            assert sum(attempt.points for attempt in Store(there).attempts(run_id)) == 10 * 10_000
        assert Store(there).check() == []
        there.dispose()
        assert empty() == target

    assert killed(nursery, go_on, *into)
