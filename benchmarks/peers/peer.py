"""What the peers have in common."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


class PeerBase:
    """A tracker with its data in a folder. By default it has no processes, no later work, no compaction."""

    compacts_by_itself = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def is_quiet(self) -> bool:
        """Whether nothing is left to be analysed, merged or compacted."""
        return True

    def compact(self) -> None:
        """Make the files as small as the tracker, or its database, can, after `close`."""

    def close(self) -> None:
        """Stop the processes."""


def vacuum_sqlite(path: Path) -> None:
    """Rewrite an SQLite file without free pages, and empty its write-ahead log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
