"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(look: Callable[[], T], seconds: float = 60) -> T:
    """What `look` gives once it gives something; a server that is not there yet counts as nothing."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if found := look():
                return found
        except OSError:
            pass
        assert time.monotonic() < deadline, f"nothing within {seconds} s"
        time.sleep(0.05)
