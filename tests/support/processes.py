"""Processes that a test starts."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def killed_afterwards() -> Iterator[list[subprocess.Popen[str]]]:
    """A list for processes: what still runs at the end is killed, and all their output is read."""
    started: list[subprocess.Popen[str]] = []
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()
