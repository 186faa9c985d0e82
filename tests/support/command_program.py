"""Run as a program: begins `holter` commands, each in a process of its own, as fast as one forks.

    python command_program.py LOG

For each line of arguments, as JSON, on standard input it forks a child that runs the command and prints the
child's number. Importing Holter takes far longer than starting its server: here it happens once.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

from holter.cli.main import main

for _command in ("serve", "db", "watch", "import"):  # what commands need is imported before any is begun
    import_module(f"holter.cli.commands.{_command}")


def begin(arguments: list[str], log: str) -> int:
    """Fork a process that runs a command; its number."""
    number = os.fork()
    if number:
        return number
    told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(told, 1)
    os.dup2(told, 2)
    code = 1
    try:
        code = main(arguments)
    finally:
        sys.stdout.flush()
        os._exit(code)


def tell(number: int) -> None:
    """A line for whoever asked."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for line in sys.stdin:
        child = begin(json.loads(line), sys.argv[1])
        tell(child)
        tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
