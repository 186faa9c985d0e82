"""Run as a program: runs `holter` for scripts, each command in a process forked from this one.

    python command_host.py SOCKET

Importing Holter takes far longer than most commands: here it happens once. `command_client.py` connects to
the socket, and passes its arguments, folder, environment, input and output. It ends with who started it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from importlib import import_module

from holter.cli.main import COMMANDS, main

_LOOKS = 5.0
"""Seconds between two looks whether the process that started this one is still there."""


def handle(connection: socket.socket) -> None:
    """In the child: run one command as if it had been started by the client, and answer its exit code."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().readline())
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    connection.sendall(f"{os.getpid()}\n".encode())
    code = 1
    try:
        code = main(request["arguments"])
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        connection.sendall(f"{code}\n".encode())
        os._exit(code)


def serve(path: str) -> None:
    """Fork a process for each connection, until who started this one is gone."""
    parent = os.getppid()
    for command in COMMANDS:
        import_module(f"holter.cli.commands.{command}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(_LOOKS)
        while os.getppid() == parent:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                handle(connection)
            connection.close()


if __name__ == "__main__":
    serve(sys.argv[1])
