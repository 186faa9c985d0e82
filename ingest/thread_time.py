"""The processor time of threads and processes, also of others, as Linux states it."""

from __future__ import annotations

import os


def thread_seconds(pid: int, thread: int) -> float | None:
    """Seconds of processor time that a thread of a process has used; None where that is not known."""
    return _seconds(f"/proc/{pid}/task/{thread}/stat")


def process_seconds(pid: int) -> float | None:
    """Seconds of processor time that all threads of a process have used; None where that is not known."""
    return _seconds(f"/proc/{pid}/stat")


def _seconds(path: str) -> float | None:
    try:
        with open(path, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
