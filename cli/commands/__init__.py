"""The commands of the `holter` command line, one module each."""

from __future__ import annotations

import sys

from holter.terminal_text import printable_lines


def fail(reason: str, code: int = 1) -> int:
    """Print the reason for a failure to standard error; returns the exit code."""
    print(printable_lines(f"holter: {reason}"), file=sys.stderr)
    return code
