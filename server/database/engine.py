"""Transactions: those that read see one moment of the database, those that write take its lock first.

Opening a database by its address: SQLite or PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session, SessionTransaction, SessionTransactionOrigin

from holter.server.database.sqlite import sqlite_engine

# a host that is gone says nothing: without these a connection to it would wait for a quarter of an hour
_NO_WAITING_FOR_THE_DEAD = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+holter")
registry.register("postgresql.holter", "holter.server.database.postgresql", "Dialect")


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
        return sqlite_engine(address, as_json=_as_json)
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


def _as_json(value: Any) -> str:
    """JSON as the standard library has it, ten times as fast where the values are the usual ones."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return json.dumps(value)


UNANSWERED = {"holter_unanswered": True}
"""Options of statements whose results nobody reads: on PostgreSQL they go with the next, or with COMMIT."""


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


@event.listens_for(Session, "after_begin")
def _write_lock(_session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    # SQLite refuses to write in a transaction that has read before another one wrote, and no waiting
    # helps: a transaction that was begun by name (session.begin()) means to write and takes the lock first
    if connection.dialect.name == "sqlite" and transaction.origin is SessionTransactionOrigin.BEGIN:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
