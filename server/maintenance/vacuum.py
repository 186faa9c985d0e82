"""Returns unused space of the database to the disk."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, text

from holter.server.database.free_space import release_free_pages
from holter.server.models import Base

_INCREMENTAL = 2


@dataclass(frozen=True, slots=True)
class DatabaseSizes:
    """Size of a database in bytes, before and after."""

    before: int
    after: int


def size_of(engine: Engine) -> int:
    """Return the size of the database in bytes; of SQLite's as if its write-ahead log were checkpointed."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            pages, each = (connection.scalar(text(f"PRAGMA {what}")) for what in ("page_count", "page_size"))
            return int(pages or 0) * int(each or 0)
        return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)


def vacuum(engine: Engine, *, full: bool = False) -> DatabaseSizes:
    """Release free space while others work. `full`: rewrite everything, while others wait."""
    before = size_of(engine)
    if engine.dialect.name == "sqlite":
        _vacuum_sqlite(engine, full=full)
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in Base.metadata.tables:
                connection.execute(text(f'VACUUM ({"FULL, " if full else ""}ANALYZE) "{table}"'))
    return DatabaseSizes(before, size_of(engine))


def _vacuum_sqlite(engine: Engine, *, full: bool) -> None:
    pool = engine.raw_connection()
    try:
        cursor = pool.cursor()
        (mode,) = cursor.execute("PRAGMA auto_vacuum").fetchone()
        if full or mode != _INCREMENTAL:  # a file that was copied by other tools may have lost its mode
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
            cursor.execute("VACUUM")
    finally:
        pool.close()
    release_free_pages(engine, keep=0)
