"""A log of any size is followed in the memory of a small one: files, many files, pipes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holter.cli.agent.stdin_reader import StdinReader
from holter.server.analysis.run_cache import memory_size
from holter.types import Unreadable

if TYPE_CHECKING:
    from tests.support.client_server import Server

pytestmark = pytest.mark.slow

Eventually = Callable[..., Any]
FILLER = (
    b"2026-08-22 10:00:00 INFO nothing of any interest stands in this line, whoever may read it\n" * 11_000
)
MiB = 2**20


def resident(pid: int) -> int:
    """The most memory that a process has had so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024


def agent(server: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "holter", "agent", *arguments, "--server", server],
        cwd=folder,
        env={**os.environ, "HOLTER_SPOOL_DIR": str(folder / "spool")},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def record(step: int) -> bytes:
    return f"iter {step}: loss 2.5, time 10.00ms, mfu 0.19%\n".encode()


def test_a_large_file_and_one_without_a_line_end(
    server: Server, tmp_path: Path, eventually: Eventually
) -> None:
    logs = tmp_path / "logs" / "large"
    logs.mkdir(parents=True)
    (logs / "train.log").write_bytes(record(0))
    with agent(server.url, tmp_path, str(tmp_path / "logs"), "--state", str(tmp_path / "state")) as process:
        eventually(lambda: len(server.points("large", "loss")) == 1)
        before = resident(process.pid)
        with (logs / "train.log").open("ab") as log:
            for step in range(1, 301):
                log.write(FILLER)
                log.write(record(step))
            log.truncate(log.tell() + 300 * MiB)  # zeros: a line of 300 MiB
            log.seek(0, os.SEEK_END)
            log.write(b"\n" + record(301))
        eventually(lambda: len(server.points("large", "loss")) == 302, 120)
        grown = resident(process.pid) - before
        process.kill()
    assert grown < 40 * MiB, f"it took {grown / MiB:.0f} MiB more to read 600 MiB"


def test_a_pipe_without_end(server: Server, tmp_path: Path, eventually: Eventually) -> None:
    with agent(server.url, tmp_path, "-", "--run", "endless") as process:
        assert process.stdin is not None
        process.stdin.write(record(0) + FILLER)
        process.stdin.flush()
        eventually(lambda: len(server.points("endless", "loss")) == 1)
        before = resident(process.pid)
        for step in range(1, 301):
            process.stdin.write(FILLER + record(step))
        process.stdin.write(b"x" * (100 * MiB) + b"\n" + record(301))
        process.stdin.flush()
        eventually(lambda: len(server.points("endless", "loss")) == 302, 120)
        grown = resident(process.pid) - before
        process.stdin.close()
        assert process.wait(60) == 0
    assert grown < 40 * MiB, f"it took {grown / MiB:.0f} MiB more to read 400 MiB"


def test_invalid_names_are_reported_up_to_a_limit() -> None:
    reader, reports, batches = StdinReader(), 0, 0
    for step in range(3000):
        line = f'{{"step": {step}, "loss": 2.5, "{step}/{"x" * 600}": 1.0}}\n'
        for record in reader.read(line.encode()):
            reports += isinstance(record, Unreadable)
            batches += not isinstance(record, Unreadable)
    assert (reports, batches) == (1000, 3000)
    assert memory_size(reader) < 2**20
