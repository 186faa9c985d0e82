"""SQLite databases of this process that do not wait for the disk.

Waiting guards against a crash of this machine, which the tests do not outlive either: after a killed process
the file is the same. Servers in processes of their own wait, as those of users do.
"""

from __future__ import annotations

from holter.server.database import sqlite

SHIPPED = sqlite._PRAGMAS
"""What users have."""


def skip_waiting_for_disk() -> None:
    """Let SQLite leave it to the operating system when what was written reaches the disk."""
    waits = "PRAGMA synchronous = FULL"
    assert waits in SHIPPED
    sqlite._PRAGMAS = tuple("PRAGMA synchronous = OFF" if each == waits else each for each in SHIPPED)
