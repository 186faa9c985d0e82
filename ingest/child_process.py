"""Starts processes of this program that read files of unknown origin, without copying this one's state."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_BEGIN = """
import signal, sys
for number in signal.SIGINT, signal.SIGTERM:  # they are meant for the process that started this one
    signal.signal(number, signal.SIG_IGN)
"""


def start_child(module: str, descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a process that calls `main` of a module with these open file descriptors. Raises OSError."""
    program = f"{_BEGIN}from {module} import main\nmain(*map(int, sys.argv[1:]))\n"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *map(str, descriptors)],
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def describe_ending(code: int) -> str:
    """How a process with this return code ended, for people."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def write_no_core() -> None:
    """Write no memory image when this process crashes: a file that makes it crash must not fill the disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_with_parent() -> None:
    """Let this process end with the thread that started it, also while it can do nothing itself (Linux)."""
    parent = os.getppid()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
