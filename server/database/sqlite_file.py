"""Where a SQLite file may lie, and whether it still does: its write-ahead log is found by its name alone."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

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
