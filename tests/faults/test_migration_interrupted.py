"""Migrations that are interrupted or fail: everything or nothing, and a sentence that says what to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from holter.cli.main import main
from holter.server.database import connect, writing
from holter.server.migrate import MigrationError, check, upgrade
from tests.support import migration_program
from tests.support.postgresql import Postgres
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

MOMENTS = (3, 8, 19, 30, 0)


@pytest.fixture(params=["sqlite", "postgresql"])
def without_tables(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database that nobody has used yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'new.db'}"
        return
    cluster: Postgres = request.getfixturevalue("postgres_cluster")
    with cluster.connection() as admin:
        admin.execute("CREATE DATABASE without_tables")
    try:
        yield cluster.url("without_tables")
    finally:
        with cluster.connection() as admin:
            admin.execute("DROP DATABASE without_tables WITH (FORCE)")


def tables_of(engine: Engine) -> list[str]:
    return inspect(engine).get_table_names()


def test_kill_9_in_the_middle_of_a_migration_leaves_nothing_half_made(without_tables: str) -> None:
    program = [sys.executable, migration_program.__file__, without_tables, *map(str, MOMENTS)]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(MOMENTS)
    engine = connect(without_tables)
    assert tables_of(engine) == []
    upgrade(engine)
    check(engine)
    engine.dispose()


def test_the_next_start_completes_what_was_interrupted(without_tables: str) -> None:
    program = [sys.executable, migration_program.__file__, without_tables, "12"]
    subprocess.run(program, check=True, capture_output=True)
    assert main(["db", "check", "--database-url", without_tables]) == 0


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["db", "upgrade"]])
def test_failed_migration_is_reported_and_changes_nothing(
    without_tables: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = connect(without_tables)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE writer (name TEXT)"))  # in the way
    assert _code([*command, "--database-url", without_tables]) == 1
    said = capsys.readouterr().err
    assert "the tables could not be upgraded to this version, and are unchanged" in said
    assert "writer" in said
    assert "Traceback" not in said
    wait_for(lambda: tables_of(engine) == ["writer"])
    engine.dispose()


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["db", "check"]])
def test_tables_of_a_newer_version_are_left_alone(
    without_tables: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine = connect(without_tables)
    upgrade(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(MigrationError, match="newer Holter"):
        upgrade(engine)
    assert _code([*command, "--database-url", without_tables]) == 1
    assert "newer Holter: update this one" in capsys.readouterr().err
    engine.dispose()


def _code(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
