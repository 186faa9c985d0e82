"""Commands as their users have them: run in this process, or in one of their own that serves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from holter.cli.main import main
from holter.server.clock import Clock
from holter.server.context import ServerContext
from holter.server.serve import HolterServer, bind
from holter.settings import Settings
from tests.support.forked_commands import ForkedCommand

Printed = Callable[..., tuple[int, str, str]]


@contextmanager
def started(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A command in its own process that serves: the process, its address, seconds to its first answer."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "holter", *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process, address_when_ready(process.stdout), time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def forked(*arguments: object, **environment: str) -> Iterator[tuple[ForkedCommand, str]]:
    """The same, forked within a moment: the process and its address."""
    process = ForkedCommand(
        [*arguments, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process, address_when_ready(process.stdout)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def address_when_ready(printed: IO[str]) -> str:
    """The address that a command prints first, once it answers."""
    line = printed.readline()
    match = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert match, line + printed.read()
    while True:
        try:
            httpx.get(f"{match[0]}/readyz", timeout=60).raise_for_status()
            return match[0]
        except httpx.TransportError:
            time.sleep(0.01)


def stop(process: subprocess.Popen[str], how: signal.Signals) -> str:
    """Send a signal, wait for the clean end, return the rest of what it printed."""
    process.send_signal(how)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, rest
    return rest


Post = Callable[..., dict[str, Any]]

Serve = Callable[..., AbstractContextManager[tuple[ServerContext, str]]]


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No holter.toml and no data directory but the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


@contextmanager
def served(settings: Settings, *, clock: Clock | None = None) -> Iterator[tuple[ServerContext, str]]:
    """A server on a free port, with a clock of its own or the test's: its context and its address."""
    with bind("127.0.0.1", 0) as listener:
        context = ServerContext(settings, clock=clock)
        context.start()
        server = HolterServer(context)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield context, f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
            context.close()


@pytest.fixture(scope="module", name="server")
def module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerContext, str]]:
    """A server for all tests of a file: its context, and its address."""
    folder = tmp_path_factory.mktemp("server")
    with served(Settings(database_url=f"sqlite:///{folder / 'holter.db'}")) as running:
        yield running


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts servers with settings of a test's own: `with serve(settings) as (context, address):`."""
    return served


@pytest.fixture
def holter(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Runs a command in this process: its exit code, what it printed, what it complained of."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
