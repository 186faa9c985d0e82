"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
QUIET_SECONDS = 4.0
"""So long after its last growth a spool has everything: it is written each second, or later under load."""

LONGEST_PAUSE = 0.2
"""Seconds between two looks after the first ones: a look often asks a server, which takes time of both."""


def wait_for(look: Callable[[], T], seconds: float = 60) -> T:
    """What `look` gives once it gives something; a server that is not there yet counts as nothing."""
    deadline, pause = time.monotonic() + seconds, 0.02
    while True:
        try:
            if found := look():
                return found
        except OSError:
            pass
        assert time.monotonic() < deadline, f"nothing within {seconds} s"
        time.sleep(pause)
        pause = min(1.2 * pause, LONGEST_PAUSE)


def wait_until_at_rest(measure: Callable[[], int], seconds: float = 60) -> None:
    """Wait until a size, once it is not 0, has been the same for `QUIET_SECONDS`."""
    size, since, end = 0, time.monotonic(), time.monotonic() + seconds
    while not size or time.monotonic() - since < QUIET_SECONDS:
        assert time.monotonic() < end, f"not at rest within {seconds} s"
        time.sleep(0.1)
        if (new_size := measure()) != size:
            size, since = new_size, time.monotonic()
