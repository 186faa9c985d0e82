"""`holter` commands that serve, each in a process that forks from one which has imported Holter already.

To import it takes longer than most tests. The process is one for all tests of this one, and is started by
the first of them (`command_host.py`).
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.support.waiting import wait_for


@cache
def _host() -> str:
    """The address of the process that commands fork from. It ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="holter-host-"))
    address = folder / "socket"
    program = Path(__file__).with_name("command_host.py")
    process = subprocess.Popen([sys.executable, program, address], start_new_session=True, cwd="/")

    def end() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    wait_for(lambda: address.exists() or process.poll() is not None, 120)
    return str(address)


class ForkedCommand:
    """A command in a process of its own, with what tests use of `subprocess.Popen`.

    What it prints and what it complains of are read from `stdout`.
    """

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        wait_for(self._is_connected, 60)
        reader, writer = os.pipe()
        with open(os.devnull) as nothing:
            socket.send_fds(self._connection, [b"."], [nothing.fileno(), writer, writer])
        os.close(writer)
        request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(environment)}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self._answers = self._connection.makefile()
        self.pid = int(self._answers.readline())
        self._descriptor = os.pidfd_open(self.pid)
        self._signal = 0
        self.stdout = open(reader)  # noqa: SIM115 (closed by `close`)
        self.returncode: int | None = None

    def _is_connected(self) -> bool:
        """Connect; raises OSError while the socket is there and nobody listens yet."""
        self._connection.connect(_host())
        return True

    def send_signal(self, how: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.returncode is None:
            self._signal = how
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, how)

    def kill(self) -> None:
        """Kill it as by `kill -9`."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code, minus the signal that killed it. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._descriptor], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("holter", timeout or 0)
            code = self._answers.readline()
            self.returncode = int(code) if code else -self._signal
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait for its end; what it has printed that was not read yet, which is little."""
        self.wait(timeout)
        return self.stdout.read(), None

    def close(self) -> None:
        """Kill it, if it still runs."""
        self.kill()
        self.wait()
        self.stdout.close()
        self._answers.close()
        self._connection.close()
        os.close(self._descriptor)
