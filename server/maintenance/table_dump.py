"""Whole databases as tables of rows: what backups and moves have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from alembic.script.revision import ResolutionError
from sqlalchemy import Connection, Engine, MetaData, Row, Table, func, inspect, select, text

from holter.server.database import reading
from holter.server.migrate import TablesError, upgrade

PORTION = 200
"""Rows that are held at once: one can have some hundred kilobytes."""

Told = Callable[[int], object]
"""Hears how many rows are done."""

_VERSIONS = "alembic_version"


class NotEmptyError(ValueError):
    """Something is to be written into a database that holds something already."""


class NewerTablesError(ValueError):
    """The rows come from a newer Holter than this one."""


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables, None where it has none of Holter's."""
    if not inspect(connection).has_table(_VERSIONS):
        return None
    revision: str | None = connection.scalar(text(f"SELECT version_num FROM {_VERSIONS}"))
    return revision


def tables_of(connection: Connection) -> list[Table]:
    """The tables as the database has them, those before that others refer to: not those of this version."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name != _VERSIONS]


def rows_of(connection: Connection, table: Table) -> Iterator[list[Row[Any]]]:
    """All rows of a table, in portions."""
    result = connection.execution_options(yield_per=PORTION).execute(select(table))
    yield from (list(portion) for portion in result.partitions(PORTION))


def insert_rows(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows as they are, with their ids."""
    connection.execute(table.insert(), list(rows))


def make_empty(engine: Engine, revision: str) -> None:
    """Give a new database, which nobody else has, the tables of a revision.

    Raises NotEmptyError, NewerTablesError.
    """
    if inspect(engine).has_table(_VERSIONS):
        with reading(engine) as connection:
            tables = tables_of(connection)
            filled = [t.name for t in tables if connection.scalar(select(func.count()).select_from(t))]
        if filled:
            raise NotEmptyError(f"the database is not empty ({', '.join(filled)})")
    try:
        upgrade(engine, revision, sole=True)
    except (TablesError, ResolutionError) as error:
        raise NewerTablesError(f"newer Holter (tables {revision}): update first") from error


def continue_numbering(connection: Connection, tables: Iterable[Table]) -> None:
    """New rows get ids after those of the rows that came with theirs."""
    if connection.dialect.name != "postgresql":
        return  # SQLite notes the largest by itself
    for table in tables:
        if "id" in table.columns:
            largest = select(func.coalesce(func.max(table.c.id), 0) + 1).scalar_subquery()
            sequence = func.pg_get_serial_sequence(table.name, "id")
            connection.execute(select(func.setval(sequence, largest, False)))
