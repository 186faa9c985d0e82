"""Run as a program, with the standard library alone: `holter ARGUMENTS` by way of `command_host.py`.

    python -IS command_client.py SOCKET ARGUMENTS...

A command that runs until it is stopped is stopped as with Ctrl-C, once it serves or has read all files.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
import time
from http.client import HTTPConnection
from typing import TextIO


def continues(arguments: list[str]) -> bool:
    """Whether the command runs until it is stopped."""
    if arguments[0] == "agent":
        return "-" not in arguments and "--spool" not in arguments
    return arguments[0] in ("serve", "watch")


def stop_when_ready(pid: int, arguments: list[str], output: TextIO) -> None:
    """Pass on the output; press Ctrl-C once the server answers, and the files have been read."""
    port, caught_up = 0, arguments[0] == "serve"
    for line in output:
        sys.stdout.write(line)
        if found := re.search(r"http://\S+:(\d+)", line):
            port = port or int(found[1])
        caught_up = caught_up or bool(re.match(r"  .*: [\d,]+ logs? of ", line))
        if port and caught_up:
            if arguments[0] != "agent":
                wait_until_ready(port)
            os.kill(pid, signal.SIGINT)
            break
    sys.stdout.writelines(output)


def wait_until_ready(port: int) -> None:
    """Wait until a server on this machine answers."""
    while True:
        try:
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)


def run(path: str, arguments: list[str]) -> int:
    """Have the command run; its exit code."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        stopped_here = continues(arguments)
        reader, writer = os.pipe() if stopped_here else (-1, 1)
        socket.send_fds(connection, [b"."], [0, writer, 2])
        request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        connection.sendall(json.dumps(request).encode() + b"\n")
        answers = connection.makefile()
        pid = int(answers.readline())
        if stopped_here:
            os.close(writer)
            with open(reader) as output:
                stop_when_ready(pid, arguments, output)
        return int(answers.readline() or 1)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
