"""Databases that tests use one after the other: each finds one as new, whatever an earlier test did."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.postgresql import Postgres
from tests.support.postgresql_databases import Databases

NEW_PROJECT = "INSERT INTO project (name, created_at) VALUES ('a', 1) RETURNING id"


@pytest.fixture
def databases(postgres_cluster: Postgres, postgres_template: str) -> Databases:
    return Databases(postgres_cluster, postgres_template)


def is_reused(databases: Databases, cluster: Postgres, name: str) -> bool:
    """Give a database back and take the next one; whether it is the same under another name."""
    with cluster.connection() as connection:
        before = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", [name]).fetchone()
        databases.give_back(name)
        following = databases.take()
        after = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", [following]).fetchone()
        left = connection.execute("SELECT count(*) FROM pg_database WHERE oid = %s", before).fetchone()
    databases.give_back(following)
    assert following != name
    assert left == (1 if after == before else 0,)
    return after == before


def test_a_database_that_is_used_again_is_empty_and_counts_from_one(
    postgres_cluster: Postgres, databases: Databases
) -> None:
    name = databases.take()
    for _ in range(3):
        with postgres_cluster.connection(name) as connection:
            assert connection.execute("SELECT count(*) FROM project").fetchone() == (0,)
            assert connection.execute(NEW_PROJECT).fetchone() == (1,)
            assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        databases.give_back(name)
        name = databases.take()


def test_counters_of_tables_without_rows_start_again(
    postgres_cluster: Postgres, databases: Databases
) -> None:
    name = databases.take()
    with postgres_cluster.connection(name) as connection:
        connection.execute("SELECT nextval(pg_get_serial_sequence('project', 'id'))")
    databases.give_back(name)
    with postgres_cluster.connection(databases.take()) as connection:
        assert connection.execute(NEW_PROJECT).fetchone() == (1,)


def test_an_open_transaction_ends_and_its_database_is_used_again(
    postgres_cluster: Postgres, databases: Databases
) -> None:
    name = databases.take()
    with psycopg.connect(postgres_cluster.address, dbname=name) as connection:
        connection.execute(NEW_PROJECT)
        assert is_reused(databases, postgres_cluster, name)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE more (n integer)",
        "DROP TABLE accepted_batch CASCADE",
        "ALTER TABLE project ADD COLUMN more integer",
        "ALTER TABLE project ALTER COLUMN name DROP NOT NULL",
        "CREATE INDEX more ON project (created_at)",
        "GRANT SELECT ON project TO PUBLIC",
        "ALTER TABLE project SET (fillfactor = 50)",
        "UPDATE alembic_version SET version_num = '0001'",
        "DROP TABLE alembic_version",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 100', current_database()); END $$",
    ],
)
def test_a_database_with_a_changed_schema_is_not_used_again(
    postgres_cluster: Postgres, databases: Databases, statement: str
) -> None:
    name = databases.take()
    with postgres_cluster.connection(name) as connection:
        connection.execute(statement)
    assert not is_reused(databases, postgres_cluster, name)


def test_a_database_that_refuses_connections_is_not_used_again(
    postgres_cluster: Postgres, databases: Databases
) -> None:
    name = databases.take()
    with postgres_cluster.connection() as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    assert not is_reused(databases, postgres_cluster, name)
