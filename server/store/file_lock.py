"""One server per SQLite file: a lock file, released by the operating system when the process ends."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Engine

from holter.private_files import private_opener
from holter.server.store.errors import StoreLockedError


class FileLock:
    """Holds the lock file next to a database from construction until `release`."""

    def __init__(self, database: Path) -> None:
        real = database.resolve()  # the same lock, whichever symbolic link leads to the file
        path = real.with_name(real.name + ".lock")
        self._file = open(path, "a+", opener=private_opener)  # noqa: SIM115 - until `release`
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            owner, _, address = self._file.read().strip().partition("\n")
            self._file.close()
            raise StoreLockedError(
                f"{database} is in use by another Holter server (process {owner or 'unknown'}). "
                "Stop it first, or choose another data directory; several servers need PostgreSQL.",
                address=address,
            ) from error
        # on a full disk the lock names no owner; reads are still served
        with suppress(OSError):
            os.truncate(path, 0)
            os.write(self._file.fileno(), describe_process().encode())

    def publish_address(self, address: str) -> None:
        """Write the server's address into the lock file, for processes that find the database in use."""
        with suppress(OSError):
            os.write(self._file.fileno(), f"\n{address}".encode())  # the file is open for appending

    def release(self) -> None:
        """Release the lock. The lock file stays: removing it could unlock a third server's."""
        self._file.close()


@contextmanager
def exclusive_access(engine: Engine) -> Iterator[None]:
    """Hold the SQLite file lock for the block; a no-op on PostgreSQL. Raises StoreLockedError."""
    lock = FileLock(Path(str(engine.url.database))) if engine.dialect.name == "sqlite" else None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def describe_process() -> str:
    """The process id with the host name: in a container the id alone identifies nothing."""
    return f"{os.getpid()} on {socket.gethostname()}"
