"""Who is logging: host, process, rank, and the name of this launch where the launcher makes it known."""

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
class Identity:
    """One process of one launch. `nonce` tells it from every other that had the same host and pid.

    `rank` is None outside multi-process launches; `attempt` is the name of the launch that all its ranks
    share, None where no name is sure to be theirs alone (the server then goes by writer, time and step).
    """

    host: str
    pid: int
    nonce: str
    rank: int | None
    attempt: str | None

    @property
    def writer(self) -> str:
        return f"{self.host}-{self.pid}-rank{self.rank or 0}-{self.nonce}"


def detect(environ: Mapping[str, str], *, attempt: str | None = None) -> Identity:
    """This process, as its environment and the operating system describe it."""
    host = socket.gethostname().split(".")[0] or "localhost"
    return Identity(
        host="".join(letter if letter.isalnum() or letter == "-" else "-" for letter in host),
        pid=os.getpid(),
        nonce=uuid.uuid4().hex[:8],
        rank=rank_of(environ),
        attempt=attempt or environ.get("HOLTER_ATTEMPT") or launch_of(environ, host),
    )


def rank_of(environ: Mapping[str, str]) -> int | None:
    """The rank within the launch; None when there is one process, or the launcher says nothing."""
    for rank, size in RANK_VARIABLES:
        if environ.get(rank, "").isdecimal() and environ.get(size, "").isdecimal():
            return int(environ[rank]) if int(environ[size]) > 1 else None
    return None


def launch_of(environ: Mapping[str, str], host: str) -> str | None:
    """A name that all ranks of this launch share and no other launch has; None where that is not sure.

    A wrong name would merge two launches into one attempt and let the later overwrite the earlier, so
    counters that begin again at 0 with every submission are never used alone.
    """
    restart = environ.get("TORCHELASTIC_RESTART_COUNT")
    if restart is not None and environ.get("GROUP_WORLD_SIZE", "1") == "1":
        born = parent_born()  # torchrun itself is the parent of every rank, and survives restarts
        return f"torchrun-{host}-{os.getppid()}-{born}.{restart}" if born else None
    job, step = environ.get("SLURM_JOB_ID"), environ.get("SLURM_STEP_ID")
    if job and step and (restart is not None or environ.get("SLURM_NTASKS", "1") != "1"):
        requeued = environ.get("SLURM_RESTART_COUNT", "0")
        return ".".join(part for part in (f"slurm-{job}", step, requeued, restart) if part is not None)
    return None


def parent_born() -> str | None:
    """When the parent process started, in clock ticks since boot; None where /proc does not tell."""
    try:
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]  # field 22; the name before it may hold anything


def default_name(environ: Mapping[str, str]) -> str:
    """A run's name when none is given: the script's, with the job or else the time of day."""
    script = Path(sys.argv[0]).stem if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "run"
    job = environ.get("SLURM_JOB_ID") or environ.get("TORCHELASTIC_RUN_ID", "none")
    return f"{script}-{time.strftime('%Y%m%d-%H%M%S') if job == 'none' else job}"
