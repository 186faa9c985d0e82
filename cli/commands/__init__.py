"""The commands of the `holter` command line, one module each."""

from __future__ import annotations

import sys


def fail(reason: str, code: int = 1) -> int:
    """Print the reason for a failure to standard error; returns the exit code."""
    print(f"holter: {reason}", file=sys.stderr)
    return code
