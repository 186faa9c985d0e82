"""How SQLite is opened: with a write-ahead log, durable, and only while its file is the one it was.

Where a SQLite file may lie, and whether it still does: its write-ahead log is found by its name alone.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

_MOUNTS = Path("/proc/self/mountinfo")
_OPENED = "/proc/self/fd/{}".format  # what Linux knows of an open file, its name among it
REMOVED = "the file of the database, or its -wal, was removed or renamed: start the server anew"


class PlaceError(ValueError):
    """A database file lies where what is acknowledged could be lost."""


class RemovedError(sqlite3.OperationalError):
    """The file, or its write-ahead log, was removed or renamed under the server that has it open."""


def check_place(database: Path, *, mounts: Path = _MOUNTS) -> None:
    """Raise PlaceError unless the write-ahead log can lie beside the file, and will be found there.

    Whoever opens the same file by another name, or in a container into which it alone is mounted, looks for
    the log elsewhere: all that was acknowledged lately would be missing, and the file be damaged.
    """
    file = database.resolve()
    if file.parent.is_dir() and not os.access(file.parent, os.W_OK | os.X_OK):
        raise PlaceError(f"{file.parent} may not be written: the database has its log beside it")
    if not file.is_file():
        return
    if file.stat().st_nlink > 1:
        raise PlaceError(
            f"{file} is also known by another name (a hard link), under which its write-ahead log would not "
            "be found: remove that, or make a copy of it (`holter db backup` makes one at any time)"
        )
    if file in _mounted(mounts):
        raise PlaceError(
            f"{file} is mounted by itself, and its write-ahead log beside it is not: mount the folder"
        )


def _mounted(table: Path) -> set[Path]:
    """The mount points, where there is a table of them (proc(5), mountinfo)."""
    try:
        lines = table.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    points = (words[4] for line in lines if len(words := line.split()) > 4)
    return {Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), point)) for point in points}


class Opened(NamedTuple):
    """A database file and its write-ahead log as a connection has them open: descriptors and names."""

    descriptors: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def stand(self) -> bool:
        """Whether both stand where they stood: else what is written is not found again."""
        return self.names == tuple(os.readlink(_OPENED(number)) for number in self.descriptors)

    def close(self) -> None:
        """Let go of them."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def opened(database: Path) -> Opened:
    """The files of a database that somebody just opened; nothing where the system cannot tell."""
    if not hasattr(os, "O_PATH"):
        return Opened()
    found: list[int] = []
    try:
        for file in (database, database.with_name(f"{database.name}-wal")):
            # only to know it: closing a descriptor that can read would free SQLite's locks on the file
            found.append(os.open(file, os.O_PATH | os.O_CLOEXEC))
        return Opened(tuple(found), tuple(os.readlink(_OPENED(number)) for number in found))
    except OSError:
        Opened(tuple(found)).close()
        return Opened()


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
    # it checkpoints while nobody writes (server/database/free_space.py), and closing the last connection
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
