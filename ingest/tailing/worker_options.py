"""What a process that follows files is told and asked for, in both processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holter.custom_format import CustomFormat
from holter.ingest.tailing.failures import FileFailures

STOP, LAG = "stop", "lag"
"""Requests to the process: to end after the file that is being read, and to state its lag."""


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What the process follows and how, see `Follower`. `memory` limits what it allocates, in bytes.

    `log_level` is None where the program has not configured logging.
    """

    roots: tuple[Path, ...]
    project: str
    poll: float | None
    host: str
    custom_formats: tuple[CustomFormat, ...]
    at_once: int
    memory: int
    failures: FileFailures
    log_level: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TailingLag:
    """How far reading is behind writing. `failing` files are paused for a while; `last_error` is on one."""

    files: int
    files_behind: int
    bytes_behind: int
    seconds_behind: float
    failing: int
    last_error: str
