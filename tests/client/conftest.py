"""A real server for what sends to it: `holter serve` in a process of its own, which can go and come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_server import Moody, Server
from tests.support.http_servers import serving
from tests.support.processes import killed_afterwards
from tests.support.waiting import wait_for


@pytest.fixture
def moody() -> Iterator[tuple[str, type[Moody]]]:
    handler = type("Told", (Moody,), {"answers": [], "seen": []})
    with serving(handler) as address:
        yield address, handler


@pytest.fixture
def eventually() -> Callable[..., Any]:
    return wait_for


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that is always there; tests keep out of each other's way by the names of their runs."""
    server = Server(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def fickle(tmp_path: Path) -> Iterator[Server]:
    """A server that is not started yet, and may be stopped and killed."""
    data = tmp_path / "server"
    data.mkdir()
    server = Server(data)
    yield server
    server.stop(signal.SIGKILL)


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a training script of its own process; whatever is still running afterwards is killed."""

    def start(script: str, **environ: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "HOLTER_SPOOL_DIR": str(tmp_path / "spool"), **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    with killed_afterwards() as started:
        yield start
