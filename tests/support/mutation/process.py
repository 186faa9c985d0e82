"""Work in a forked process, which inherits all that is imported and leaves nothing of what it does."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
_MEMORY = 6 << 30  # bytes: a fault may make a loop endless that appends to a list


def run_forked(work: Callable[[], Result], folder: Path, limit: float) -> Result | None:
    """What `work` returns in a process of its own; None if it takes longer than `limit` seconds or dies."""
    output = folder / "result"
    output.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _work(work, output)
    deadline = time.monotonic() + limit
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    _end_group(child)
    return pickle.loads(output.read_bytes()) if output.exists() else None


def _work(work: Callable[[], Result], output: Path) -> None:
    """Never returns: what the parent would do at its exit is not this process's to do."""
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        for descriptor in (1, 2):
            os.dup2(os.open(output.with_suffix(".txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        result = pickle.dumps(work())
        temporary = output.with_suffix(".new")
        temporary.write_bytes(result)
        temporary.rename(output)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _end_group(leader: int) -> None:
    """End what the process has started and left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
