"""The command line: selects the command and runs it with its arguments."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

import holter
from holter.cli.secrets_in_arguments import hide_secrets
from holter.terminal_text import TerminalFormatter

COMMANDS = {
    "watch": "follow log files and folders live, with the dashboard",
    "serve": "run the server without following files",
    "agent": "follow files on this machine and send them to a server",
    "analyze": "read logs once, print the findings, exit",
    "diff": "compare two runs: settings, speed, incidents, and losses with a 95 % interval",
    "demo": "replay recorded training runs as if they happened now",
    "doctor": "check settings, database, channels, and whether log files can be read",
    "db": "back up, copy, check or clean up the database, delete a run",
    "token": "create, list and revoke access tokens",
    "tag": "tag, star or note a run, or mark it as finished",
    "stop": "ask a run's client to stop",
    "save": "ask a run's training loop to save a checkpoint",
    "alert": "list the channels, send a test message, explain the routing",
    "silence": "mute incidents, with a reason and an end",
    "export": "write a run to a file",
    "report": "write a report of a run, or of a project's week, as one HTML file",
    "import": "import the runs of another tracker, or files of holter export",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. The module of a command defines `add_arguments` and `run`."""
    try:
        return _main(argv)
    except KeyboardInterrupt:  # also while the modules of the command are being loaded
        print("holter: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:  # the reader has closed the pipe, as in `holter export a | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _main(argv: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="holter", description="A heart monitor for training runs.")
    parser.add_argument("--version", action="version", version=f"holter {holter.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    requested = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, description in COMMANDS.items():
        text = description.replace("%", "%%")  # argparse formats the help, not the description
        command = commands.add_parser(name, help=text, description=description.capitalize() + ".")
        if name == requested:  # only this command is imported, so that start-up is fast
            if find_spec("numpy") is None or find_spec("fastapi") is None:
                advice = "the command line needs the server's packages: pip install 'holter[server]'"
                print(f"holter: {advice}", file=sys.stderr)
                return 2
            import_module(f"holter.cli.commands.{name}").add_arguments(command)
    namespace = parser.parse_args(arguments)
    if argv is None:
        hide_secrets(namespace)
    if logging.lastResort is not None:  # it writes the warnings of commands that configure no logging
        logging.lastResort.setFormatter(TerminalFormatter())
    code: int = import_module(f"holter.cli.commands.{namespace.command}").run(namespace)
    sys.stdout.flush()
    return code
