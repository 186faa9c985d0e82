"""Passwords and tokens in arguments, which every user of a machine can read in the list of processes.

A program cannot reliably overwrite its arguments. It can start again in the same process with the value in
its environment, which only its own user can read: the value is then visible for the start-up only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

TARGET_VARIABLE = "HOLTER_TARGET_DATABASE_URL"
_VARIABLES = {"database_url": "HOLTER_DATABASE_URL", "to": TARGET_VARIABLE, "token": "HOLTER_TOKEN"}
"""The variable that replaces each argument, by its name in the parsed arguments."""


def hide_secrets(arguments: argparse.Namespace) -> None:
    """Where arguments contain a secret, warn and start the program again without it. Else do nothing."""
    secrets = {
        variable: value
        for name, variable in _VARIABLES.items()
        if (value := getattr(arguments, name, None)) and (name == "token" or has_password(value))
    }
    command = without_values(sys.orig_argv, set(secrets.values()))
    if not secrets or command is None:
        return
    variables = " and ".join(secrets)
    files = "" if "HOLTER_TOKEN" in secrets else ", or a file (--database-url-file, --to-file)"
    warning = "a password or token in an argument can be read by other users of this machine: use"
    sys.stderr.write(f"holter: {warning} {variables}{files}\n")
    sys.stderr.flush()
    os.execve(sys.executable, command, os.environ | secrets)


def without_values(command: Sequence[str], values: set[str]) -> list[str] | None:
    """The command without these values and their flags; None if they are not all found."""
    kept: list[str] = []
    found: set[str] = set()
    for argument in command:
        flag, equals, value = argument.partition("=")
        if argument in values and kept and kept[-1].startswith("--"):
            kept.pop()
            found.add(argument)
        elif flag.startswith("--") and equals and value in values:
            found.add(value)
        else:
            kept.append(argument)
    return kept if found == values else None


def has_password(url: str) -> bool:
    """Whether the address of a database contains a password."""
    try:
        parts = urlsplit(url)
        return parts.password is not None or "password" in parts.query.lower()
    except ValueError:
        return False
