"""Limits the memory of a process that reads files of unknown origin.

The limit counts memory that the process can write to (RLIMIT_DATA): a failing allocation raises MemoryError.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")


def limit_memory(room: int) -> None:
    """Let this process allocate `room` more bytes than it has now; without effect where Linux's /proc is not.

    Processes that it starts may lift the limit, see `lift_memory_limit`.
    """
    data = _data_bytes()
    if data is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = data + room if hard == resource.RLIM_INFINITY else min(hard, data + room)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def add_memory(extra: int) -> None:
    """Raise the limit of this process, if it has one, for something that takes memory once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft != resource.RLIM_INFINITY:
        limit = soft + extra if hard == resource.RLIM_INFINITY else min(hard, soft + extra)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def lift_memory_limit() -> None:
    """Remove the limit from this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _data_bytes() -> int | None:
    """The writable memory of this process; None where that is not known."""
    if sys.platform != "linux":
        return None
    with suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return None
