"""Opening the database, and transactions on it: SQLite or PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session, SessionTransaction, SessionTransactionOrigin

from holter.server.place import Opened, RemovedError, check_place, opened

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


# a host that is gone says nothing: without these a connection to it would wait for a quarter of an hour
_NO_WAITING_FOR_THE_DEAD = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_FULL = "the disk of the database is full"
_AWAY_SQLITE = {
    "SQLITE_BUSY": "another process has locked the database for long",
    "SQLITE_LOCKED": "another process has locked the database for long",
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "the file of the database cannot be read or written",
    "SQLITE_CANTOPEN": "the file of the database cannot be opened",
    "SQLITE_READONLY": "the file of the database may not be written",
}
_REMOVED = "the file of the database, or its -wal, was removed or renamed: start the server anew"
_AWAY_POSTGRESQL = {
    "08": "the database does not answer",
    "25P": "the database takes longer than its settings allow",  # between or with statements
    "25006": "the database may not be written just now",  # a standby, or set to be read only
    "53": "the database has run out of memory, disk or connections",
    "55P03": "others have locked the database for long",
    "57014": "the database takes longer than its settings allow",
    "57P": "the database is being stopped or started",
    "58": "the database cannot read or write its files",
}

_POOLED = (
    "a pooler lends each transaction another connection of the database, which does not know the prepared "
    "statements: add prepare_threshold=none to the address (docs/team.md)"
)
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+holter")
registry.register("postgresql.holter", "holter.server.postgresql", "Dialect")

UNANSWERED = {"holter_unanswered": True}
"""Options of statements whose results nobody reads: on PostgreSQL they go with the next, or with COMMIT."""

_DAMAGED_SQLITE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_DAMAGED_POSTGRESQL = ("XX001", "XX002")


def why_away(error: BaseException) -> str | None:
    """Why the database takes nothing from anybody just now; None where the fault is the statement's own."""
    if isinstance(error, PoolTimeoutError):
        return "the database answers too slowly"
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, RemovedError):
        return _REMOVED
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "")
        return next((why for start, why in _AWAY_SQLITE.items() if name.startswith(start)), None)
    if type(cause).__module__.partition(".")[0] == "psycopg":
        return _why_postgresql(cause)
    return None


def was_in_the_way(error: BaseException) -> bool:
    """Whether another server was quicker: it made the same row, or each of two waited for the other."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return isinstance(error, IntegrityError) or state.startswith("40")


def is_damage(error: DBAPIError) -> bool:
    """Whether the database says that its own files are damaged."""
    name = getattr(error.orig, "sqlite_errorname", "")
    state = getattr(error.orig, "sqlstate", None) or ""
    return name.startswith(_DAMAGED_SQLITE) or state in _DAMAGED_POSTGRESQL


def _why_postgresql(cause: Any) -> str | None:
    import psycopg  # noqa: PLC0415 - 8 MB that only those need who have it already

    if isinstance(cause, psycopg.errors.InvalidSqlStatementName | psycopg.errors.DuplicatePreparedStatement):
        return _POOLED
    if isinstance(cause, psycopg.errors.DiskFull):
        return _FULL
    if isinstance(cause, _away()):
        state = cause.sqlstate or "08"  # without one: there was nobody to give it
        return next((why for start, why in _AWAY_POSTGRESQL.items() if state.startswith(start)), None)
    return None


def _away() -> tuple[type[Any], ...]:
    from psycopg import InterfaceError, OperationalError, errors  # noqa: PLC0415 - as above

    ended = (errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout)
    return (OperationalError, InterfaceError, errors.ReadOnlySqlTransaction, *ended)


def is_missing(url: str) -> bool:
    """Whether a URL names a SQLite file that is not there yet."""
    address = make_url(url)
    return address.get_backend_name() == "sqlite" and not Path(address.database or "").exists()


def connect(url: str | URL) -> Engine:
    """An engine for a database address; `postgresql://` means the psycopg driver. Opens no connection yet.

    Raises ValueError for other databases, PlaceError for a SQLite file that cannot be used where it lies.
    """
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        return _sqlite(address)
    if address.drivername not in _POSTGRESQL:
        raise ValueError(f"database {address.drivername!r}: use sqlite:///FILE or postgresql+psycopg://…")
    # what the address says itself comes first
    line = {name: value for name, value in _NO_WAITING_FOR_THE_DEAD.items() if name not in address.query}
    return create_engine(
        address.set(drivername="postgresql+holter"),
        use_native_hstore=False,  # else each engine asks for that type
        pool_size=10,
        max_overflow=20,
        pool_pre_ping=True,
        json_serializer=_as_json,
        connect_args=line,
    )


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees one moment of the database, however many statements it runs."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection = connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes, committed at the end, rolled back by an exception."""
    with engine.connect().execution_options(holter_writes=True) as connection, connection.begin():
        yield connection


def _as_json(value: Any) -> str:
    """JSON as the standard library has it, ten times as fast where the values are the usual ones."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return json.dumps(value)


def _sqlite(address: URL) -> Engine:
    file = Path(address.database or "").resolve()
    if address.database:
        check_place(file)
    engine = create_engine(address, pool_size=10, max_overflow=20, json_serializer=_as_json)

    held: list[Opened] = []
    guard = threading.Lock()

    @event.listens_for(engine, "do_connect")
    def look(*_: object) -> None:
        # it would have another log than those that are open already
        with guard:
            if not all(files.stand for files in held):
                raise RemovedError(_REMOVED)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where SQLAlchemy begins them
        cursor = connection.cursor()
        cursor.execute("PRAGMA busy_timeout = 30000")
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        for pragma in _PRAGMAS if pages else (*_OF_NEW_FILES, *_PRAGMAS):
            cursor.execute(pragma)
        cursor.execute("SELECT 1 FROM sqlite_schema").fetchone()  # opens the write-ahead log
        cursor.close()
        with guard:
            record.info["files"] = opened(file)
            held.append(record.info["files"])

    @event.listens_for(engine, "close")
    def let_go(_connection: object, record: Any) -> None:
        with guard:
            if files := record.info.pop("files", None):
                held.remove(files)
                files.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("holter_writes", False)
        if writes and not connection.connection.info["files"].stand:
            raise OperationalError("BEGIN IMMEDIATE", None, RemovedError(_REMOVED))
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@event.listens_for(Session, "after_begin")
def _write_lock(_session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    # SQLite refuses to write in a transaction that has read before another one wrote, and no waiting
    # helps: a transaction that was begun by name (session.begin()) means to write and takes the lock first
    if connection.dialect.name == "sqlite" and transaction.origin is SessionTransactionOrigin.BEGIN:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
