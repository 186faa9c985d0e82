"""Why the database takes nothing just now, or what it says of itself: in words, from its own errors."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from holter.server.database.sqlite import REMOVED, RemovedError

_FULL = "the disk of the database is full"
_AWAY_SQLITE = {
    "SQLITE_BUSY": "another process has locked the database for long",
    "SQLITE_LOCKED": "another process has locked the database for long",
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "the file of the database cannot be read or written",
    "SQLITE_CANTOPEN": "the file of the database cannot be opened",
    "SQLITE_READONLY": "the file of the database may not be written",
}
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
_DAMAGED_SQLITE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_DAMAGED_POSTGRESQL = ("XX001", "XX002")


def why_away(error: BaseException) -> str | None:
    """Why the database takes nothing from anybody just now; None where the fault is the statement's own."""
    if isinstance(error, PoolTimeoutError):
        return "the database answers too slowly"
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, RemovedError):
        return REMOVED
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
