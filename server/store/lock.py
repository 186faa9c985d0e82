"""One server per SQLite file: a lock that ends with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from holter.server.store.errors import StoreLockedError


class FileLock:
    """Holds the lock file beside a database from creation until `release`."""

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        self._file = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise StoreLockedError(
                f"{database} is in use by another Holter server (process {holder}). Stop it first, "
                "or choose another data directory; several servers need PostgreSQL."
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let others use the database. The lock file stays: removing it could unlock a third server's."""
        self._file.close()
