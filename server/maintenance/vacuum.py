"""Gives space that is no longer used back to the disk."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, text

from holter.server.database.free_space import give_back
from holter.server.models import Base

_INCREMENTAL = 2


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a database, before and after."""

    before: int
    after: int


def size_of(engine: Engine) -> int:
    """Bytes of the database. Of SQLite's, once its write-ahead log has been moved into the file."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            pages, each = (connection.scalar(text(f"PRAGMA {what}")) for what in ("page_count", "page_size"))
            return int(pages or 0) * int(each or 0)
        return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)


def vacuum(engine: Engine, *, full: bool = False) -> Sizes:
    """Give free space back, while others work. `full`: write everything anew, packed, while others wait."""
    before = size_of(engine)
    if engine.dialect.name == "sqlite":
        _vacuum_sqlite(engine, full=full)
    else:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in Base.metadata.tables:
                connection.execute(text(f'VACUUM ({"FULL, " if full else ""}ANALYZE) "{table}"'))
    return Sizes(before, size_of(engine))


def _vacuum_sqlite(engine: Engine, *, full: bool) -> None:
    pool = engine.raw_connection()
    try:
        cursor = pool.cursor()
        (mode,) = cursor.execute("PRAGMA auto_vacuum").fetchone()
        if full or mode != _INCREMENTAL:  # a file that was copied by other means may have lost its mode
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
            cursor.execute("VACUUM")
    finally:
        pool.close()
    give_back(engine, keep=0)
