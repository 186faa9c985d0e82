"""Engines for SQLite and PostgreSQL, and transactions.

A read transaction sees one snapshot of the database; a write transaction takes the write lock first.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session, SessionTransaction, SessionTransactionOrigin
from sqlalchemy.pool import ConnectionPoolEntry

from holter.server.database.sqlite import sqlite_engine

# a dead host sends nothing: without these settings a connection would wait for fifteen minutes
_CONNECTION_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

PIPELINED = {"holter_pipelined": True}
"""Options of statements whose results are unused: on PostgreSQL they are pipelined, see `postgresql.py`."""

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+holter")
registry.register("postgresql.holter", "holter.server.database.postgresql", "PipelinedDialect")


def is_missing(url: str) -> bool:
    """Whether a URL names a SQLite file that does not exist yet."""
    address = make_url(url)
    return address.get_backend_name() == "sqlite" and not Path(address.database or "").exists()


def without_password(url: str | URL) -> str:
    """The address of a database for people: without passwords, also among its parameters."""
    address = make_url(url)
    secret = [name for name in address.query if "password" in name.lower()]
    host = address.host and address.host.rpartition("@")[2]
    return address.difference_update_query(secret).set(host=host).render_as_string(hide_password=True)


def connect(url: str | URL) -> Engine:
    """Create an engine for a database address; `postgresql://` means psycopg. Opens no connection yet.

    Raises ValueError for other databases and ambiguous addresses, DatabasePathError for a SQLite file in an
    unsafe location.
    """
    address = make_url(url)
    if "@" in (address.host or ""):  # a part of the password would be resolved as a host name, and logged
        raise ValueError("database_url: write @ in a user name or password as %40")
    engine = (
        sqlite_engine(address, to_json=_to_json)
        if address.get_backend_name() == "sqlite"
        else _postgresql_engine(address)
    )
    _close_after_disposal(engine)
    return engine


def _postgresql_engine(address: URL) -> Engine:
    if address.drivername not in _POSTGRESQL:
        raise ValueError(f"database {address.drivername!r}: use sqlite:///FILE or postgresql+psycopg://…")
    # parameters of the address take precedence
    connect_args = {name: value for name, value in _CONNECTION_TIMEOUTS.items() if name not in address.query}
    return create_engine(
        address.set(drivername="postgresql+holter"),
        use_native_hstore=False,  # otherwise each engine queries that type
        pool_size=10,
        max_overflow=20,
        pool_pre_ping=True,
        json_serializer=_to_json,
        connect_args=connect_args,
    )


def _close_after_disposal(engine: Engine) -> None:
    """Close connections that are in use while their engine is disposed of once they are returned.

    Without it they are pooled until the garbage collector finds them: the server has a connection too many.
    """
    is_disposed = threading.Event()
    event.listen(engine, "engine_disposed", lambda _: is_disposed.set())

    @event.listens_for(engine, "checkin")
    def close(_connection: object, record: ConnectionPoolEntry) -> None:
        if is_disposed.is_set():
            record.close()


def _to_json(value: Any) -> str:
    """Encode as `json.dumps` does, ten times as fast for the common types."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return json.dumps(value)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a connection that sees one snapshot of the database, however many statements it runs."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection = connection.execution_options(
                isolation_level="REPEATABLE READ", postgresql_readonly=True
            )
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a write transaction: committed at the end of the block, rolled back on an exception."""
    with engine.connect().execution_options(holter_writes=True) as connection, connection.begin():
        yield connection


@event.listens_for(Session, "after_begin")
def _write_lock(_session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    # SQLite cannot upgrade a read transaction after another connection has written, however long it waits:
    # a transaction begun explicitly (session.begin()) intends to write, so it takes the write lock first
    if connection.dialect.name == "sqlite" and transaction.origin is SessionTransactionOrigin.BEGIN:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
