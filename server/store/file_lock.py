"""One server per SQLite file: a lock that ends with the process, however it ends."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Engine

from holter.server.store.errors import StoreLockedError


class FileLock:
    """Holds the lock file beside a database from creation until `release`."""

    def __init__(self, database: Path) -> None:
        real = database.resolve()  # one file, whichever link leads to it
        path = real.with_name(real.name + ".lock")
        self._file = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder, _, address = self._file.read().strip().partition("\n")
            self._file.close()
            raise StoreLockedError(
                f"{database} is in use by another Holter server (process {holder or 'unknown'}). "
                "Stop it first, or choose another data directory; several servers need PostgreSQL.",
                address=address,
            ) from error
        # without room on the disk nobody is told who has it, and reads are answered all the same
        with suppress(OSError):
            os.truncate(path, 0)
            os.write(self._file.fileno(), whoever().encode())

    def tell(self, address: str) -> None:
        """Where whoever finds the file held can ask for what only its holder may do."""
        with suppress(OSError):
            os.write(self._file.fileno(), f"\n{address}".encode())  # at the end: it is open for that

    def release(self) -> None:
        """Let others use the database. The lock file stays: removing it could unlock a third server's."""
        self._file.close()


@contextmanager
def alone(engine: Engine) -> Iterator[None]:
    """No server has the file meanwhile; on PostgreSQL that cannot be told. Raises StoreLockedError."""
    lock = FileLock(Path(str(engine.url.database))) if engine.dialect.name == "sqlite" else None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def whoever() -> str:
    """This process, for people who find its lock: in a container its number alone would say nothing."""
    return f"{os.getpid()} on {socket.gethostname()}"
