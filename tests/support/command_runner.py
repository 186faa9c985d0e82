"""Starts `holter` commands quickly in processes that may be killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
from http.client import HTTPConnection
from pathlib import Path

from tests.support.forked_commands import ForkedCommand
from tests.support.ports import free_port
from tests.support.waiting import wait_for


class CommandRunner:
    """Begins `holter` commands, one at a time, that all write to one log."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.log = folder / "servers.log"
        self.port = free_port()
        self._process: ForkedCommand | None = None

    @property
    def child(self) -> int:
        """The number of the command's process."""
        assert self._process is not None
        return self._process.pid

    def begin(self, *arguments: object) -> int:
        """Begin a command; the number of its process."""
        own = {"XDG_DATA_HOME": str(self._folder), "HOLTER_PORT": str(self.port)}
        with self.log.open("ab") as log:
            self._process = ForkedCommand(
                arguments, stdout=log, stderr=subprocess.STDOUT, cwd=self._folder, env=os.environ | own
            )
        return self.child

    def end(self, how: signal.Signals = signal.SIGKILL) -> int:
        """Send the command a signal and wait for its end; its exit code, minus the signal that killed it."""
        assert self._process is not None
        self._process.send_signal(how)
        return self.ended()

    def ended(self) -> int:
        """Wait for the command's end; its exit code."""
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        return code

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
        if self._process is not None:
            self.end()
