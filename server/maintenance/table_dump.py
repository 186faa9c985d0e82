"""Reads and writes all rows of a database's tables, for backups and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from alembic.script.revision import ResolutionError
from sqlalchemy import Connection, Engine, MetaData, Row, Table, func, inspect, select, text

from holter.server.database import reading
from holter.server.migrate import MigrationError, upgrade

ROWS_PER_BATCH = 200
"""Rows in memory at a time: one can have some hundred kilobytes."""

ProgressCallback = Callable[[int], object]
"""Called with the number of rows processed."""

_VERSIONS = "alembic_version"


class NotEmptyError(ValueError):
    """The target database has rows already."""


class NewerTablesError(ValueError):
    """The rows were written by a newer version of Holter."""


def database_revision(connection: Connection) -> str | None:
    """Return the revision of a database's tables, None without Holter's tables."""
    if not inspect(connection).has_table(_VERSIONS):
        return None
    revision: str | None = connection.scalar(text(f"SELECT version_num FROM {_VERSIONS}"))
    return revision


def reflect_tables(connection: Connection) -> list[Table]:
    """Return the tables as the database has them (not as this version defines them), referenced tables
    first.
    """
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != _VERSIONS]


def read_rows(connection: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    """Yield all rows of a table in batches."""
    with connection.execution_options(yield_per=ROWS_PER_BATCH).execute(select(table)) as result:
        yield from (list(batch) for batch in result.partitions(ROWS_PER_BATCH))


def insert_rows(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows with their ids."""
    connection.execute(table.insert(), list(rows))


def create_empty_tables(engine: Engine, revision: str) -> None:
    """Create the tables of a revision in a new database, whose file lock the caller holds.

    Raises NotEmptyError, NewerTablesError.
    """
    if inspect(engine).has_table(_VERSIONS):
        with reading(engine) as connection:
            tables = reflect_tables(connection)
            filled = [
                table.name for table in tables if connection.scalar(select(func.count()).select_from(table))
            ]
        if filled:
            raise NotEmptyError(f"the database is not empty ({', '.join(filled)})")
    try:
        upgrade(engine, revision, exclusive=True)
    except (MigrationError, ResolutionError) as error:
        raise NewerTablesError(f"newer Holter (tables {revision}): update first") from error


def reset_sequences(connection: Connection, tables: Iterable[Table]) -> None:
    """Advance id sequences past the inserted rows."""
    if connection.dialect.name != "postgresql":
        return  # SQLite records the largest id itself
    for table in tables:
        if "id" in table.columns:
            largest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
            sequence = func.pg_get_serial_sequence(table.name, "id")
            connection.execute(select(func.setval(sequence, largest, False)))
