"""Run as a program: runs `holter` for tests and scripts, each command in a process forked from this one.

    python command_host.py SOCKET

Importing Holter takes far longer than most commands: here it happens once. Who connects to the socket
(`forked_commands.py`, `command_client.py`) passes a command's arguments, folder, environment, input and
output, and gets the number of its process, and how it ended. The host ends with who started it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from importlib import import_module

from holter.cli.main import COMMANDS, main

_LOOKS = 5.0
"""Seconds between two looks whether the process that started this one is still there."""
_IMPORTED_LATE = ("anyio._backends._asyncio", "uvicorn.lifespan.on", "uvicorn.loops.auto", "uvloop")
"""What a server imports when it starts."""


def run(connection: socket.socket) -> None:
    """In the child: run one command as if it had been started by the client, and end as Python ends."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().readline())
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    search = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in search if path and path not in sys.path]
    os.chdir(request["folder"])
    connection.sendall(f"{os.getpid()}\n".encode())
    connection.close()
    code = 1
    try:
        code = exit_code(request["arguments"])
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the end of Python does
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run a command; the exit code that Python would end with."""
    try:
        return main(arguments)
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        return 1


class Host:
    """The commands that run, and the connections of who began them."""

    def __init__(self, path: str) -> None:
        self._connections: dict[int, socket.socket] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._ends, self._signalled = os.pipe()
        os.set_blocking(self._signalled, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._signalled)

    def serve(self) -> None:
        """Fork a process for each connection, until who started this one is gone."""
        parent = os.getppid()
        self._listener.listen()
        while os.getppid() == parent:
            ready, _, _ = select.select([self._listener, self._ends], [], [], _LOOKS)
            if self._ends in ready:
                os.read(self._ends, 4096)
                self._report_ends()
            if self._listener in ready:
                self._begin(self._listener.accept()[0])

    def _begin(self, connection: socket.socket) -> None:
        number = os.fork()
        if number:
            self._connections[number] = connection
            return
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for other in (self._listener, *self._connections.values()):
            other.close()
        os.close(self._ends)
        os.close(self._signalled)
        run(connection)

    def _report_ends(self) -> None:
        """Say of each command that ended its exit code, or minus the signal that killed it."""
        while self._connections:
            number, status = os.waitpid(-1, os.WNOHANG)
            if not number:
                return
            with self._connections.pop(number) as connection, suppress(OSError):
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    for name in (*(f"holter.cli.commands.{command}" for command in COMMANDS), *_IMPORTED_LATE):
        import_module(name)
    gc.collect()
    gc.freeze()  # children need not look through it, nor copy it
    Host(sys.argv[1]).serve()
