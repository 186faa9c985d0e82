"""How fast this machine is now, so that limits on processor time hold on slower machines as well."""

from __future__ import annotations

import re
import time

USUAL_SECONDS = 0.02
"""What the piece of work takes on the machine that the limits of the tests were chosen on."""
_LINE = re.compile(r"(\w+)=([\d.]+)")


def _work() -> int:
    """A fixed piece of what reading a log is made of: patterns, numbers, texts and dictionaries."""
    found: dict[str, float] = {}
    for step in range(9_000):
        text = f"step={step} loss={step / 7:.4f} lr=0.001"
        for name, value in _LINE.findall(text):
            found[f"{name}/{step % 50}"] = float(value)
    return len(found)


def slowness() -> float:
    """How many times as long as usual that work takes now, the quickest of three times; at least 1."""
    quickest = min(_seconds() for _ in range(3))
    return max(1.0, quickest / USUAL_SECONDS)


def _seconds() -> float:
    began = time.thread_time()
    _work()
    return time.thread_time() - began


def is_within(seconds: float, limit: float) -> bool:
    """Whether processor time is below a limit, which is larger as far as this machine is slower."""
    return seconds < limit or seconds < limit * slowness()
