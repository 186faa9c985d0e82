"""Checkpoints the write-ahead log of SQLite and returns free pages to the file system."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, text

from holter.server.database.engine import reading, writing
from holter.server.database.sqlite import WAL_BYTES

_MIN_FREE_PAGES = 1000  # free pages to retain: the log of batches reuses them soon
_PAGES_PER_STEP = 1000  # pages, as other writers wait meanwhile


def checkpoint(engine: Engine) -> None:
    """Checkpoint a write-ahead log larger than WAL_BYTES while no other connection writes."""
    if engine.dialect.name != "sqlite":
        return
    # the log is next to the file itself, not next to a symbolic link to it
    file = Path(str(engine.url.database)).resolve()
    log = file.with_name(f"{file.name}-wal")
    pool = engine.raw_connection()
    try:
        if not pool.info["files"].are_in_place:
            # the files were removed: what only the log has would be lost with this process
            pool.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
        elif log.is_file() and log.stat().st_size > WAL_BYTES:
            with writing(engine):
                pool.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
    finally:
        pool.close()


def release_free_pages(engine: Engine, *, keep: int = _MIN_FREE_PAGES) -> None:
    """Shrink the SQLite file by its free pages, retaining `keep` of them."""
    if engine.dialect.name != "sqlite":
        return
    with reading(engine) as connection:
        free = int(connection.scalar(text("PRAGMA freelist_count")) or 0)
    pool = engine.raw_connection()
    try:
        driver_connection = pool.driver_connection
        assert driver_connection is not None
        while free > keep:
            pages = min(_PAGES_PER_STEP, free - keep)
            # as a script, since execute() of the driver stops after the first page
            driver_connection.executescript(f"PRAGMA incremental_vacuum({pages});")
            free -= pages
    finally:
        pool.close()
