"""Transactions: those that read see one moment of the database, those that write take its lock first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session, SessionTransaction, SessionTransactionOrigin

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
