"""Classifies database errors: unavailable, conflict or damage, with reasons for people."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from holter.server.database.sqlite import REMOVED_MESSAGE, DatabaseRemovedError

_FULL = "the disk of the database is full"
_UNAVAILABLE_SQLITE = {
    "SQLITE_BUSY": "another process has locked the database for long",
    "SQLITE_LOCKED": "another process has locked the database for long",
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "the database file cannot be read or written",
    "SQLITE_CANTOPEN": "the database file cannot be opened",
    "SQLITE_READONLY": "the database file is not writable",
}
_UNAVAILABLE_POSTGRESQL = {
    "08": "the database does not answer",
    "25P": "the database takes longer than its settings allow",  # a timeout of transactions
    "25006": "the database is read-only at the moment",  # a standby, or configured read-only
    "53": "the database has run out of memory, disk or connections",
    "55P03": "other clients have locked the database for long",
    "57014": "the database takes longer than its settings allow",
    "57P": "the database is being stopped or started",
    "58": "the database cannot read or write its files",
}

_POOLED = (
    "a connection pooler gives each transaction another server connection, without the prepared "
    "statements: add prepare_threshold=none to the address (docs/team.md)"
)
_DAMAGED_SQLITE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_DAMAGED_POSTGRESQL = ("XX001", "XX002")


def unavailable_reason(error: BaseException) -> str | None:
    """Return why the database is unavailable at the moment; None where the statement itself is at fault."""
    if isinstance(error, PoolTimeoutError):
        return "the database answers too slowly"
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, DatabaseRemovedError):
        return REMOVED_MESSAGE
    if isinstance(cause, sqlite3.Error):
        name = getattr(cause, "sqlite_errorname", "")
        return next((why for start, why in _UNAVAILABLE_SQLITE.items() if name.startswith(start)), None)
    if type(cause).__module__.partition(".")[0] == "psycopg":
        return _postgresql_reason(cause)
    return None


def is_conflict(error: BaseException) -> bool:
    """Whether another server inserted the same row first, or both were in a deadlock."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return isinstance(error, IntegrityError) or state.startswith("40")


def is_damage(error: DBAPIError) -> bool:
    """Whether the database reports damage of its own files."""
    name = getattr(error.orig, "sqlite_errorname", "")
    state = getattr(error.orig, "sqlstate", None) or ""
    return name.startswith(_DAMAGED_SQLITE) or state in _DAMAGED_POSTGRESQL


def _postgresql_reason(cause: Any) -> str | None:
    import psycopg  # noqa: PLC0415 - 8 MB, needed only where it is imported already

    if isinstance(cause, psycopg.errors.InvalidSqlStatementName | psycopg.errors.DuplicatePreparedStatement):
        return _POOLED
    if isinstance(cause, psycopg.errors.DiskFull):
        return _FULL
    if isinstance(cause, _unavailable_types()):
        state = cause.sqlstate or "08"  # without a state: there was no server to report one
        return next((why for start, why in _UNAVAILABLE_POSTGRESQL.items() if state.startswith(start)), None)
    return None


def _unavailable_types() -> tuple[type[Any], ...]:
    from psycopg import InterfaceError, OperationalError, errors  # noqa: PLC0415 - as above

    timeouts = (errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout)
    return (OperationalError, InterfaceError, errors.ReadOnlySqlTransaction, *timeouts)
