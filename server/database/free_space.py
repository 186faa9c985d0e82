"""Checkpoints the write-ahead log of SQLite and returns free pages to the file system."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, text

from holter.server.database.engine import reading, writing
from holter.server.database.sqlite import WAL_BYTES

_KEPT = 1000  # free pages that the log will soon use again
_AT_ONCE = 1000  # pages: others want to write meanwhile


def checkpoint(engine: Engine) -> None:
    """Move the pages of a grown write-ahead log into the file, while nobody else writes."""
    if engine.dialect.name != "sqlite":
        return
    file = Path(str(engine.url.database)).resolve()  # the log lies beside it, not beside a link to it
    log = file.with_name(f"{file.name}-wal")
    pool = engine.raw_connection()
    try:
        if not pool.info["files"].stand:  # nobody writes any more, and what it holds would be lost with us
            pool.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
        elif log.is_file() and log.stat().st_size > WAL_BYTES:
            with writing(engine):
                pool.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
    finally:
        pool.close()


def give_back(engine: Engine, *, keep: int = _KEPT) -> None:
    """Shrink the file by its free pages, but for some."""
    if engine.dialect.name != "sqlite":
        return
    with reading(engine) as connection:
        free = int(connection.scalar(text("PRAGMA freelist_count")) or 0)
    pool = engine.raw_connection()
    try:
        connection_itself = pool.driver_connection
        assert connection_itself is not None
        while free > keep:
            pages = min(_AT_ONCE, free - keep)
            # as a script: the driver's execute() would stop after the first page
            connection_itself.executescript(f"PRAGMA incremental_vacuum({pages});")
            free -= pages
    finally:
        pool.close()
