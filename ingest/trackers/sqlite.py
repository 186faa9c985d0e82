"""Reads SQLite databases of other programs, which may be in use, without writing to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from holter.ingest.trackers.base import CollectionError

_MAGIC = b"SQLite format 3\0"
_CHUNK_ROWS = 50_000
"""Rows that are read at a time: a program that writes to the database waits only until these are read."""
_LOCK_TIMEOUT = 30.0


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def table_columns(path: Path) -> dict[str, set[str]]:
    """The columns of each table of a database; empty if it cannot be read."""
    try:
        with open_readonly(path) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {name: column_names(database, name) for (name,) in names}
    except (CollectionError, sqlite3.Error):
        return {}


def column_names(database: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns."""
    return {row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def as_text(value: object) -> str:
    """A name or id as text, "" for NULL; values may be of any type, since SQLite does not check it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


@contextmanager
def open_readonly(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection. Raises CollectionError for errors of SQLite and of the file.

    A database in WAL mode that no process has open is read as immutable, since SQLite would otherwise create
    files next to it. It is an error if another process writes to it meanwhile.
    """
    try:
        before = _file_state(path) if _is_closed(path) else None
        mode = "mode=ro" if before is None else "immutable=1"
        address = f"{path.absolute().as_uri()}?{mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=_LOCK_TIMEOUT)) as database:
            database.execute("PRAGMA query_only = ON")
            yield database
        if before is not None and _file_state(path) != before:
            raise CollectionError(f"{path}: was written to while it was read; import it again")
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own message may be no valid UTF-8
        raise CollectionError(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise CollectionError(f"{path}: cannot be opened: {error.strerror or error}") from error


def row_chunks(
    path: Path, column_names: str, table: str, where: str, value: str
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a table in the order in which they were written, in lists; each begins with the rowid."""
    last = -(2**63)
    query = (
        f"SELECT rowid, {column_names} FROM {table} WHERE {where} = ? AND rowid > ? ORDER BY rowid LIMIT ?"
    )
    with open_readonly(path) as database:
        while rows := database.execute(query, (value, last, _CHUNK_ROWS)).fetchall():
            yield rows
            last = rows[-1][0]


def _is_closed(path: Path) -> bool:
    """Whether a database in WAL mode has no write-ahead log, since it was closed properly."""
    with path.open("rb") as file:
        in_wal_mode = file.read(20)[18:20] == b"\2\2"
    return in_wal_mode and not path.with_name(f"{path.name}-wal").exists()


def _file_state(path: Path) -> tuple[int, int, bool]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, path.with_name(f"{path.name}-wal").exists()
