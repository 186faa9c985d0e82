"""How SQLite is opened: with a write-ahead log, durable, and only while its file is the one it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from holter.server.database.sqlite_file import REMOVED, Opened, RemovedError, check_place, opened

WAL_BYTES = 8 * 2**20
"""Bytes of SQLite's write-ahead log from which on its pages are moved into the file."""

_OF_NEW_FILES = (  # they write: not into others, which may be locked, or on a full disk
    "PRAGMA page_size = 8192",
    "PRAGMA auto_vacuum = INCREMENTAL",
)
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # what was acknowledged survives a power failure
    # before 3.51.3, SQLite can lose pages when somebody writes at a certain moment of a checkpoint:
    # the store makes them while nobody writes (server/store/space.py), and closing the last connection
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {WAL_BYTES}",
    "PRAGMA foreign_keys = ON",
)


def sqlite_engine(address: URL, *, as_json: Callable[[Any], str]) -> Engine:
    """An engine for a file. Raises PlaceError where it cannot be used where it lies."""
    file = Path(address.database or "").resolve()
    if address.database:
        check_place(file)
    engine = create_engine(address, pool_size=10, max_overflow=20, json_serializer=as_json)
    _watch_file(engine, file)
    event.listen(engine, "begin", _begin)
    return engine


def _watch_file(engine: Engine, file: Path) -> None:
    """Open connections to the file as it was found, and none once it was removed or renamed."""
    held: list[Opened] = []
    guard = threading.Lock()

    @event.listens_for(engine, "do_connect")
    def look(*_: object) -> None:
        # it would have another log than those that are open already
        with guard:
            if not all(files.stand for files in held):
                raise RemovedError(REMOVED)

    @event.listens_for(engine, "connect")
    def keep(connection: Any, record: Any) -> None:
        _prepare(connection)
        with guard:
            record.info["files"] = opened(file)
            held.append(record.info["files"])

    @event.listens_for(engine, "close")
    def let_go(_connection: object, record: Any) -> None:
        with guard:
            if files := record.info.pop("files", None):
                held.remove(files)
                files.close()


def _prepare(connection: Any) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy begins them
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 30000")
    (pages,) = cursor.execute("PRAGMA page_count").fetchone()
    for pragma in _PRAGMAS if pages else (*_OF_NEW_FILES, *_PRAGMAS):
        cursor.execute(pragma)
    cursor.execute("SELECT 1 FROM sqlite_schema").fetchone()  # opens the write-ahead log
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("holter_writes", False)
    if writes and not connection.connection.info["files"].stand:
        raise OperationalError("BEGIN IMMEDIATE", None, RemovedError(REMOVED))
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
