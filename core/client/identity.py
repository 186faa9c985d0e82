"""Identifies the logging process: host, pid, rank, and the launch where the launcher names it."""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE"),  # torchrun, Kubernetes training operators
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process of one launch. `nonce` distinguishes it from others with the same host and pid.

    `rank` is None outside multi-process launches. `attempt` is a launch name shared by all its ranks, None
    where no name is certain to be unique (the server then uses writer, time and step).
    """

    host: str
    pid: int
    nonce: str
    rank: int | None
    attempt: str | None

    @property
    def writer(self) -> str:
        return f"{self.host}-{self.pid}-rank{self.rank or 0}-{self.nonce}"


def detect(environ: Mapping[str, str], *, attempt: str | None = None) -> ProcessIdentity:
    """Detect the identity of this process from its environment and the operating system."""
    host = socket.gethostname().split(".")[0] or "localhost"
    return ProcessIdentity(
        host="".join(letter if letter.isalnum() or letter == "-" else "-" for letter in host),
        pid=os.getpid(),
        nonce=uuid.uuid4().hex[:8],
        rank=detect_rank(environ),
        attempt=attempt or environ.get("HOLTER_ATTEMPT") or launch_name(environ, host),
    )


def detect_rank(environ: Mapping[str, str]) -> int | None:
    """Return the rank within the launch; None for a single process or where the launcher sets none."""
    for rank, size in RANK_VARIABLES:
        if environ.get(rank, "").isdecimal() and environ.get(size, "").isdecimal():
            return int(environ[rank]) if int(environ[size]) > 1 else None
    return None


def launch_name(environ: Mapping[str, str], host: str) -> str | None:
    """Return a name that all ranks of this launch share and no other launch has; None where uncertain.

    A wrong name would merge two launches into one attempt and let the later one overwrite the earlier, so
    counters that restart at 0 with every submission are never used alone.
    """
    restart = environ.get("TORCHELASTIC_RESTART_COUNT")
    if restart is not None and environ.get("GROUP_WORLD_SIZE", "1") == "1":
        born = parent_start_time()  # torchrun itself is the parent of every rank, and survives restarts
        return f"torchrun-{host}-{os.getppid()}-{born}.{restart}" if born else None
    job, step = environ.get("SLURM_JOB_ID"), environ.get("SLURM_STEP_ID")
    if job and step and (restart is not None or environ.get("SLURM_NTASKS", "1") != "1"):
        requeued = environ.get("SLURM_RESTART_COUNT", "0")
        return ".".join(part for part in (f"slurm-{job}", step, requeued, restart) if part is not None)
    return None


def parent_start_time() -> str | None:
    """Return the start time of the parent process in clock ticks since boot; None without /proc."""
    try:
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]  # field 22; the name before it may contain anything


def default_run_name(environ: Mapping[str, str]) -> str:
    """Return a run name from the script's name and the job id, or the time without a job id."""
    script = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "run"
    job = environ.get("SLURM_JOB_ID") or environ.get("TORCHELASTIC_RUN_ID", "none")
    return f"{script}-{time.strftime('%Y%m%d-%H%M%S') if job == 'none' else job}"
