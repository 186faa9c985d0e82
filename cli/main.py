"""The command line: finds the command, hands it its arguments."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import holter

COMMANDS = {
    "watch": "follow log files and folders live, with the dashboard",
    "serve": "run the server alone",
    "agent": "follow files here, send them to a server elsewhere",
    "analyze": "read everything once, print the findings, exit",
    "demo": "replay real training runs as if they happened now",
    "doctor": "check set-up, database and channels, and what would be read of files and folders",
    "db": "back up, move, check or slim the database, delete a run",
    "token": "create, list and revoke access tokens",
    "alert": "send a test message to a channel",
    "export": "write a run to a file",
    "import": "take the runs of another tracker, or files of holter export",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. A command's module defines `add_arguments` and `run`."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="holter", description="A heart monitor for training runs.")
    parser.add_argument("--version", action="version", version=f"holter {holter.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    named = next((word for word in arguments if not word.startswith("-")), None)
    for name, description in COMMANDS.items():
        command = commands.add_parser(name, help=description, description=description.capitalize() + ".")
        if name == named:  # only the command asked for is imported: start-up stays quick
            if find_spec("numpy") is None or find_spec("fastapi") is None:
                needed = "holter: the command line needs the server's packages: pip install 'holter[server]'"
                print(needed, file=sys.stderr)
                return 2
            import_module(f"holter.cli.commands.{name}").add_arguments(command)
    chosen = parser.parse_args(arguments)
    try:
        code: int = import_module(f"holter.cli.commands.{chosen.command}").run(chosen)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("holter: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # the reader has seen enough, as in `holter export a | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code
