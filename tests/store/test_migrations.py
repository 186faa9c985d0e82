"""Migrations: both databases go up, down and up again, and end where the models are."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.util.exc import CommandError
from sqlalchemy import Engine, inspect, text

from holter.server.database import connect
from holter.server.migrate import check, downgrade, migrations, upgrade
from holter.server.models import Base


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
