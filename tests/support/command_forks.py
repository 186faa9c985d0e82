"""Run as a program: begins `holter` commands, each in a process of its own, as fast as one forks.

    python command_forks.py

For each line on standard input, `{"arguments", "folder", "environment", "log"}` as JSON, it forks a child
that runs the command, and prints its number and later its exit code. Importing Holter takes far longer
than starting its server: here it happens once.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from holter.cli.main import main

for _command in (
    "serve",
    "db",
    "watch",
    "import",
    "export",
):  # what they need is imported before any is begun
    import_module(f"holter.cli.commands.{_command}")


def begin(request: dict[str, Any]) -> int:
    """Fork a process that runs a command; its number."""
    number = os.fork()
    if number:
        return number
    told = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(told, 1)
    os.dup2(told, 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    code = 1
    try:
        code = main(request["arguments"])
    finally:
        sys.stdout.flush()
        os._exit(code)


def tell(number: int) -> None:
    """A line for whoever asked."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for line in sys.stdin:
        child = begin(json.loads(line))
        tell(child)
        tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
