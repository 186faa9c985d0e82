"""`holter` commands, each in a process that forks from one which has imported Holter already.

To import it takes longer than most tests. The process is one for all tests of this one, and is started by
the first of them (`command_host.py`). Tests of the start itself start Python instead.
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
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_for


@cache
def _host() -> str:
    """The address of the process that commands fork from. It ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="holter-host-"))
    address = folder / "socket"
    program = Path(__file__).with_name("command_host.py")
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, program, address], start_new_session=True, cwd="/", stdin=nothing, stdout=nothing
    )

    def end() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    wait_for(lambda: address.exists() or process.poll() is not None, 120)
    return str(address)


def _connection() -> socket.socket:
    """A connection to that process."""
    connection = socket.socket(socket.AF_UNIX)

    def is_connected() -> bool:
        """Raises OSError while the socket is there and nobody listens yet."""
        connection.connect(_host())
        return True

    wait_for(is_connected, 60)
    return connection


class ForkedCommand(subprocess.Popen[Any]):
    """`holter ARGUMENTS` in a process of its own, as `subprocess.Popen` starts it.

    It knows of the options of Popen those for pipes, text, folder and environment. The process is a child of
    the one that it forks from. What PYTHONPATH names is added to the Python path of the tests.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        *,
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        text: bool = False,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        words = ["holter", *map(str, arguments)]
        super().__init__(words, stdin=stdin, stdout=stdout, stderr=stderr, text=text, cwd=cwd, env=env)

    def _execute_child(self, args: list[str], *options: Any) -> None:  # type: ignore[override]
        """Have the process forked; in place of what starts a program."""
        folder, environment, ends = options[4], options[5], options[9:15]
        child_reads, _, _, child_writes, _, child_complains = ends
        descriptors = [
            number if given == -1 else given
            for number, given in enumerate((child_reads, child_writes, child_complains))
        ]
        request = {
            "arguments": args[1:],
            "folder": str(folder or os.getcwd()),
            "environment": dict(os.environ if environment is None else environment),
        }
        self._replies = _connection()
        socket.send_fds(self._replies, [b"."], descriptors)
        self._replies.sendall(json.dumps(request).encode() + b"\n")
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]
        self.pid = int(self._next_line())
        self._child_created = True

    def _next_line(self) -> bytes:
        """The next line of the host's replies, and nothing of the next; empty if it has ended."""
        line = b""
        while not line.endswith(b"\n") and (byte := self._replies.recv(1)):
            line += byte
        return line

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        """Wait for the end of the process; the exit code, minus the signal that killed it."""
        if self.returncode is None and select.select([self._replies], [], [], timeout)[0]:
            with self._waitpid_lock:  # type: ignore[attr-defined]
                if self.returncode is None:
                    self.returncode = int(self._next_line() or -signal.SIGKILL)
                    self._replies.close()
        return self.returncode


def run_command(
    arguments: Sequence[object], *, check: bool = False, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` does; what it printed and complained of is text."""
    with ForkedCommand(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    ) as process:
        try:
            printed, complaints = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, printed, complaints)
    if check:
        done.check_returncode()
    return done
