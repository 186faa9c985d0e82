"""How much of a core the analysis may take: what the other threads of the server leave, at least a fifth."""

from __future__ import annotations

import time

_OF_A_CORE = 0.8
"""The analysis and all other threads together: requests must not wait for their common interpreter."""
_LEAST = 0.2
"""What the analysis takes however busy the others are."""
_WINDOW = 1.0
"""Seconds over which the use of the others is averaged."""


class ProcessorShare:
    """Measures the processor time of the other threads. Used in the thread of the analysis only."""

    def __init__(self) -> None:
        self._share = _LEAST
        self._measured_at = time.monotonic()
        self._others: float | None = None

    def current(self) -> float:
        """The share of a core that the analysis may take now, between 0.2 and 0.8."""
        now, others = time.monotonic(), time.process_time() - time.thread_time()
        if self._others is None:
            self._measured_at, self._others = now, others
        elif now >= self._measured_at + _WINDOW:
            used = (others - self._others) / (now - self._measured_at)
            self._share = min(max(_OF_A_CORE - used, _LEAST), _OF_A_CORE)
            self._measured_at, self._others = now, others
        return self._share
