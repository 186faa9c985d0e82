"""Backup, restore, move, vacuum and import, killed in the middle; a server killed while they are at work."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select

from holter.server.database import connect, reading
from holter.server.maintenance.backup import back_up, restore
from holter.server.maintenance.vacuum import vacuum
from holter.server.migrate import upgrade
from holter.server.models import AcceptedBatch, RunRecord
from holter.server.store import Store
from holter.types import SeriesKey
from tests.support.batch_senders import BatchSender, assert_all_is_there, sending
from tests.support.command_runner import CommandRunner
from tests.support.postgresql import Postgres
from tests.support.stored_runs import all_rows, delivery, points_of, run_id_of
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

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


def killed(command_runner: CommandRunner, after: Callable[[], None], *command: object) -> int:
    """Run a command to its end, and then again and again, killed ever later; how often it was killed."""
    for _ in range(2):  # the first time takes much longer
        began = time.monotonic()
        command_runner.begin(*command)
        assert command_runner.ended() == 0, command_runner.log.read_text()[-2000:]
        took = time.monotonic() - began
        after()
    kills, chance = 0, random.Random(1)
    for moment in range(MOMENTS):
        command_runner.begin(*command)
        time.sleep(took * (moment + chance.random()) / (MOMENTS + 1))
        kills += command_runner.end() == -signal.SIGKILL
        after()
    while not kills:  # the machine was busy when `took` was measured: all kills came too late
        took /= 2
        assert took > 0.001
        command_runner.begin(*command)
        time.sleep(took)
        kills += command_runner.end() == -signal.SIGKILL
        after()
    return kills


def test_killed_backup_leaves_no_file(
    filled: Engine, database_url: str, command_runner: CommandRunner, tmp_path: Path
) -> None:
    file = tmp_path / "holter.backup"
    before = all_rows(filled)
    seen = []

    def look() -> None:
        seen.append(file.exists())
        if seen[-1]:
            target = connect(f"sqlite:///{tmp_path / f'restored {len(seen)}.db'}")
            restore(target, file)
            assert all_rows(target) == before
            target.dispose()
            file.unlink()

    assert killed(command_runner, look, "db", "backup", file, "--database-url", database_url)
    assert not all(seen)
    back_up(filled, file)  # what was left of the others is in nobody's way
    look()
    assert sorted(path.name for path in tmp_path.glob("holter.backup*")) == []


@pytest.mark.parametrize("how", ["restore", "move"])
def test_killed_restore_leaves_the_database_empty_or_complete(
    filled: Engine,
    database_url: str,
    command_runner: CommandRunner,
    tmp_path: Path,
    how: str,
    empty: Callable[[], str],
) -> None:
    before = all_rows(filled)
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
            assert all_rows(there) == before
        there.dispose()
        if wholes[-1]:
            assert empty() == target

    assert killed(command_runner, look, *command)
    assert not all(wholes)
    assert all_rows(filled) == before
    command_runner.begin(*command)
    assert command_runner.ended() == 0, command_runner.log.read_text()[-2000:]
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
        with cluster.connection() as admin:
            admin.execute("DROP DATABASE IF EXISTS target WITH (FORCE)")
            admin.execute(f"CREATE DATABASE target TEMPLATE {template}")
        return cluster.url("target")

    return created


def test_a_vacuum_that_was_killed_changes_nothing(
    filled: Engine, database_url: str, command_runner: CommandRunner
) -> None:
    before = all_rows(filled)

    def look() -> None:
        assert all_rows(filled) == before

    assert killed(command_runner, look, "db", "vacuum", "--full", "--database-url", database_url)
    assert Store(filled).check() == []


def test_a_server_that_is_killed_disturbs_no_backup_and_no_vacuum(
    database_url: str, command_runner: CommandRunner, tmp_path: Path
) -> None:
    engine = connect(database_url)
    command_runner.serve(database_url)
    senders = [
        BatchSender(command_runner.port, "small"),
        BatchSender(command_runner.port, "wide", metrics=40, rows=1000),
    ]
    with sending(senders):
        for turn in range(2):
            wait_for(lambda: senders[1].acknowledged > 4 * (turn + 1), 60)  # noqa: B023
            file = tmp_path / f"{turn}.backup"
            work = threading.Thread(target=lambda: (back_up(engine, file), vacuum(engine)))  # noqa: B023
            work.start()
            time.sleep(0.02 * turn)
            command_runner.end()
            command_runner.begin("serve", "--database-url", database_url)
            work.join()
            whole(file, tmp_path / f"{turn}.db")
    assert command_runner.end(signal.SIGTERM) == 0
    store = Store(engine)
    store.start()
    assert_all_is_there(store, senders)
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


def test_killed_import_is_completed_by_the_next(
    filled: Engine, database_url: str, empty: Callable[[], str], command_runner: CommandRunner, tmp_path: Path
) -> None:
    file, target = tmp_path / "a.parquet", empty()
    command_runner.begin("export", "a", "--output", file, "--database-url", database_url)
    assert command_runner.ended() == 0, command_runner.log.read_text()[-2000:]
    before = points_of(filled, run_id_of(filled, "a"))
    into = ["import", file, "--database-url", target]

    def go_on() -> None:
        there = connect(target)
        assert Store(there).check() == []
        for _ in range(2):  # the second changes nothing
            command_runner.begin(*into)
            assert command_runner.ended() == 0, command_runner.log.read_text()[-2000:]
            run_id = run_id_of(there, "a")
            assert points_of(there, run_id) == before
            assert sum(attempt.points for attempt in Store(there).attempts(run_id)) == 10 * 10_000
        assert Store(there).check() == []
        there.dispose()
        assert empty() == target

    assert killed(command_runner, go_on, *into)
