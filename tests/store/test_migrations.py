"""Migrations: both databases go up, down and up again, and end where the models are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, insert, inspect, text
from sqlalchemy.exc import IntegrityError

from holter.server.database import connect
from holter.server.migrate import check, downgrade, migrations, upgrade
from holter.server.models import Base, IncidentRow, Project, RunRecord


def test_up_down_and_up_again(engine: Engine) -> None:
    tables = set(Base.metadata.tables)
    assert set(inspect(engine).get_table_names()) == tables | {"alembic_version"}
    downgrade(engine, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    upgrade(engine)
    upgrade(engine)
    assert set(inspect(engine).get_table_names()) == tables | {"alembic_version"}


def test_the_tables_are_those_of_the_models(engine: Engine) -> None:
    check(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE run ADD COLUMN surprise INTEGER"))
    with pytest.raises(CommandError, match="surprise"):
        check(engine)


def test_older_tables_keep_what_they_hold(engine: Engine) -> None:
    """Notifications of 0001, which knew incidents only."""
    told = (
        "INSERT INTO notification ({}channel, key, reason, detail, state, attempts, next_try_at, created_at)"
    )
    values = "VALUES ({}'team', '{}', 'opened', '{{}}', 'waiting', 0, 1, 1)"
    downgrade(engine, "0001")
    with engine.begin() as connection:
        _incident(connection)
        connection.execute(text(f"{told} {values}".format("id, incident_id, ", "1, 1, ", "a")))
    upgrade(engine)
    with engine.begin() as connection:
        assert connection.scalar(text("SELECT incident_id FROM notification")) == 1
        with pytest.raises(IntegrityError), connection.begin_nested():  # about nothing
            connection.execute(text(f"{told} {values}".format("id, ", "2, ", "b")))
    downgrade(engine, "0001")
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM notification")) == 1


def _incident(connection: Connection) -> None:
    project = {"id": 1, "name": "llm", "created_at": 1.0}
    connection.execute(insert(Project).values(project))
    run = {"id": 1, "public_id": "a", "project_id": 1, "name": "a", "created_at": 1.0, "updated_at": 1.0}
    connection.execute(insert(RunRecord).values(run))
    finding: dict[str, Any] = dict.fromkeys(("attempt", "start_step", "detected_step"), 1)
    finding |= dict.fromkeys(("fingerprint", "metric", "summary", "advice"), "")
    finding |= {"kind": "stall", "severity": "warning", "state": "open", "labels": {}, "evidence": {}}
    finding |= dict.fromkeys(("id", "run_id", "confidence", "opened_at", "updated_at"), 1)
    connection.execute(insert(IncidentRow).values(finding))


def test_a_failed_migration_leaves_nothing_behind(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path / 'half.db'}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE writer (name TEXT)"))  # in the way of the migration
    with pytest.raises(Exception, match="writer"):
        upgrade(engine)
    assert inspect(engine).get_table_names() == ["writer"]
    engine.dispose()


def test_sqlite_is_safe_by_default(sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_other_databases_are_refused() -> None:
    with pytest.raises(ValueError, match="use sqlite:///FILE or postgresql"):
        connect("mysql://root@localhost/x")


def test_the_migrations_are_found() -> None:
    assert (migrations() / "env.py").is_file()
    assert not (migrations() / "__init__.py").exists()
