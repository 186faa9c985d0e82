"""SQLite engines: write-ahead log, full durability, and protection against files that are moved or linked.

SQLite finds the write-ahead log by the file's name alone, so the location of the file is checked when it is
opened, and that it still has this name on every write.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from holter.private_files import create_private_file

_MOUNTS = Path("/proc/self/mountinfo")
_DESCRIPTOR_LINK = "/proc/self/fd/{}".format  # a link to the current name of an open file
REMOVED_MESSAGE = "the database file, or its -wal, was removed or renamed: restart the server"


class DatabasePathError(ValueError):
    """A database file is in a location where acknowledged data could be lost."""


class DatabaseRemovedError(sqlite3.OperationalError):
    """The file or its write-ahead log was removed or renamed while the server has it open."""


def check_path(database: Path, *, mounts: Path = _MOUNTS) -> None:
    """Raise DatabasePathError unless the write-ahead log can be next to the file, and will be found there.

    A process that opens the file by another name, or in a container into which only the file is mounted, does
    not find the log: recently acknowledged data would be missing, and the file be damaged.
    """
    file = database.resolve()
    if file.parent.is_dir() and not os.access(file.parent, os.W_OK | os.X_OK):
        raise DatabasePathError(
            f"{file.parent} is not writable: the database needs its write-ahead log next to it"
        )
    if not file.is_file():
        return
    if file.stat().st_nlink > 1:
        raise DatabasePathError(
            f"{file} has another name (a hard link), under which its write-ahead log would not "
            "be found: remove that, or make a copy of it (`holter db backup` makes one at any time)"
        )
    if file in _mounted(mounts):
        raise DatabasePathError(f"{file} is mounted without its write-ahead log: mount the folder instead")


def _mounted(table: Path) -> set[Path]:
    """The mount points listed in mountinfo (proc(5)), where it exists."""
    try:
        lines = table.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    points = (words[4] for line in lines if len(words := line.split()) > 4)
    return {Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), point)) for point in points}


class OpenDatabaseFiles(NamedTuple):
    """A database file and its write-ahead log as opened by a connection: path descriptors and names."""

    descriptors: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def are_in_place(self) -> bool:
        """Whether both files still have the names under which they were opened."""
        return self.names == tuple(os.readlink(_DESCRIPTOR_LINK(number)) for number in self.descriptors)

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def open_path_descriptors(database: Path) -> OpenDatabaseFiles:
    """Describe the files of a database that was just opened; empty where the system has no O_PATH."""
    if not hasattr(os, "O_PATH"):
        return OpenDatabaseFiles()
    descriptors: list[int] = []
    try:
        for file in (database, database.with_name(f"{database.name}-wal")):
            # path only: closing a readable descriptor would release SQLite's locks on the file
            descriptors.append(os.open(file, os.O_PATH | os.O_CLOEXEC))
        return OpenDatabaseFiles(
            tuple(descriptors), tuple(os.readlink(_DESCRIPTOR_LINK(number)) for number in descriptors)
        )
    except OSError:
        OpenDatabaseFiles(tuple(descriptors)).close()
        return OpenDatabaseFiles()


WAL_BYTES = 8 * 2**20
"""Size of SQLite's write-ahead log in bytes from which on it is checkpointed."""

# they write, so they are not run on existing files, which may be locked or on a full disk
_NEW_FILE_PRAGMAS = (
    "PRAGMA page_size = 8192",
    "PRAGMA auto_vacuum = INCREMENTAL",
)
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # acknowledged data survives a power failure
    # before 3.51.3, SQLite can lose pages if a write coincides with a certain moment of a checkpoint:
    # checkpoints are run while no other connection writes (free_space.py), and on closing the last one
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {WAL_BYTES}",
    "PRAGMA foreign_keys = ON",
)


def sqlite_engine(address: URL, *, to_json: Callable[[Any], str]) -> Engine:
    """Create an engine for a file. Raises DatabasePathError for an unsafe location."""
    file = Path(address.database or "").resolve()
    if address.database:
        check_path(file)
    engine = create_engine(address, pool_size=10, max_overflow=20, json_serializer=to_json)
    _watch_file(engine, file, in_memory=address.database in {None, "", ":memory:"})
    event.listen(engine, "begin", _begin)
    return engine


def _watch_file(engine: Engine, file: Path, *, in_memory: bool) -> None:
    """Create the file readable by its owner only; refuse new connections once it was removed or renamed."""
    open_files: list[OpenDatabaseFiles] = []
    lock = threading.Lock()

    @event.listens_for(engine, "do_connect")
    def check_files(*_: object) -> None:
        # a new connection would use another log than the open ones
        with lock:
            if not all(files.are_in_place for files in open_files):
                raise DatabaseRemovedError(REMOVED_MESSAGE)
            if not in_memory:  # SQLite gives the write-ahead log the mode of the database
                with suppress(OSError):  # SQLite reports why
                    create_private_file(file)

    @event.listens_for(engine, "connect")
    def register(connection: Any, record: Any) -> None:
        _prepare(connection)
        with lock:
            record.info["files"] = open_path_descriptors(file)
            open_files.append(record.info["files"])

    @event.listens_for(engine, "close")
    def unregister(_connection: object, record: Any) -> None:
        with lock:
            if files := record.info.pop("files", None):
                open_files.remove(files)
                files.close()


def _prepare(connection: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy begins transactions, not the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout = 30000")
    (pages,) = cursor.execute("PRAGMA page_count").fetchone()
    for pragma in _PRAGMAS if pages else (*_NEW_FILE_PRAGMAS, *_PRAGMAS):
        cursor.execute(pragma)
    cursor.execute("SELECT 1 FROM sqlite_schema").fetchone()  # opens the write-ahead log
    cursor.close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("holter_writes", False)
    if writes and not connection.connection.info["files"].are_in_place:
        raise OperationalError("BEGIN IMMEDIATE", None, DatabaseRemovedError(REMOVED_MESSAGE))
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
