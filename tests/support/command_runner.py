"""Starts `holter` commands quickly in processes that may be killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

from tests.support.ports import free_port
from tests.support.waiting import wait_for


class CommandForks:
    """A process with Holter imported, from which commands fork, one at a time. It lasts for many tests."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def begin(self, request: dict[str, object]) -> int:
        """Begin a command; the number of its process."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            program = Path(__file__).with_name("command_forks.py")
            self._process = subprocess.Popen(
                [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self.hear()

    def hear(self) -> int:
        """The number that it tells next."""
        assert self._process is not None
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(60)
            self._process.stdout.close()
            self._process = None


class CommandRunner:
    """Begins `holter` commands, one at a time, that all write to one log."""

    def __init__(self, folder: Path, forks: CommandForks) -> None:
        self._folder = folder
        self._forks = forks
        self.log = folder / "servers.log"
        self.port = free_port()
        self.child = 0

    def begin(self, *arguments: object) -> int:
        """Begin a command; the number of its process."""
        own = {"XDG_DATA_HOME": str(self._folder), "HOLTER_PORT": str(self.port)}
        self.child = self._forks.begin(
            {
                "arguments": [str(argument) for argument in arguments],
                "folder": str(self._folder),
                "environment": {**os.environ, **own},
                "log": str(self.log),
            }
        )
        return self.child

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """Send the command a signal and wait for its end; its exit code, minus the signal that killed it."""
        with suppress(ProcessLookupError):  # it has ended by itself
            os.kill(self.child, how)
        return self.ended()

    def ended(self) -> int:
        """Wait for the command's end; its exit code."""
        self.child = 0
        return self._forks.hear()

    def answers(self, path: str) -> int | None:
        """The status of an answer of the server, None where there is none yet."""
        line = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            line.request("GET", path)
            with line.getresponse() as answer:
                return answer.status
        finally:
            line.close()

    def serve(self, database: str) -> None:
        """Begin a server and wait until it is ready."""
        self.begin("serve", "--database-url", database)
        wait_for(lambda: self.answers("/readyz") == 200, 60)

    def close(self) -> None:
        """End the command, if one is there."""
        if self.child:
            self.end()
