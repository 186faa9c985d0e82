"""Gives back what compaction has freed in a SQLite file; PostgreSQL sees to that by itself."""

from __future__ import annotations

from sqlalchemy import Engine, text

from holter.server.database import reading

_KEPT = 1000  # free pages that the log will soon use again
_AT_ONCE = 1000  # pages: others want to write meanwhile


def give_back(engine: Engine) -> None:
    """Shrink the file by its free pages, but for some."""
    if engine.dialect.name != "sqlite":
        return
    with reading(engine) as connection:
        free = int(connection.scalar(text("PRAGMA freelist_count")) or 0)
    pool = engine.raw_connection()
    try:
        connection_itself = pool.driver_connection
        assert connection_itself is not None
        while free > _KEPT:
            pages = min(_AT_ONCE, free - _KEPT)
            # as a script: the driver's execute() would stop after the first page
            connection_itself.executescript(f"PRAGMA incremental_vacuum({pages});")
            free -= pages
    finally:
        pool.close()
