"""Children killed at random moments, one after the other; what they had done by then stands in a file."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable


def kill_at_random(
    child: Callable[[int], None], notes: str, *, kills: int, chance: random.Random, mean: float
) -> None:
    """Let children work, each for `mean` seconds on average, and kill each with SIGKILL.

    `child` gets the open file `notes` to write into, and never returns.
    """
    opened = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for turn in range(kills):
        before = os.fstat(opened).st_size
        pid = os.fork()
        if pid == 0:
            child(opened)
        # every other child has got to work first, however busy the machine is
        end = time.monotonic() + 60 * (turn % 2)
        while os.fstat(opened).st_size == before and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(chance.expovariate(1 / mean))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit("a child ended by itself")
