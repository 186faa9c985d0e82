"""Points per second by project: a token bucket that may be overdrawn once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from holter.server.store.errors import RateLimitError
from holter.settings.projects import QuotaSettings

_MAX_BUCKETS = 10_000  # projects; an evicted one starts with a full bucket


class PointRateLimiter:
    """Admits deliveries while their project's bucket is not empty. Threads may share it."""

    def __init__(
        self, quota: Callable[[str], QuotaSettings], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._quota = quota
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, computed at

    def close(self) -> None:
        """End all waits: waiting deliveries raise RateLimitError."""
        self._closed.set()

    def wait(self, project: str, points: int, timeout: float) -> None:
        """Take points of a project, waiting at most `timeout` seconds. Raises RateLimitError.

        A delivery larger than what is left is admitted, too; those after it wait until the deficit is
        refilled.
        """
        quota = self._quota(project)
        if not quota.max_points_per_second:
            return
        deadline = self._clock() + timeout
        while (wait_seconds := self._take(project, points, quota)) > 0:
            remaining = deadline - self._clock()
            if wait_seconds > remaining or self._closed.wait(wait_seconds):
                raise RateLimitError(project, quota.max_points_per_second, wait_seconds)

    def _take(self, project: str, points: int, quota: QuotaSettings) -> float:
        """Take points from the bucket; return 0 if they were taken, else the seconds until it is positive."""
        rate, now = quota.max_points_per_second, self._clock()
        with self._lock:
            level, filled_at = self._buckets.pop(project, (rate * quota.burst_seconds, now))
            level = min(rate * quota.burst_seconds, level + rate * (now - filled_at))
            if level > 0:
                level -= points
                wait_seconds = 0.0
            else:
                wait_seconds = max(-level / rate, 1 / rate)
            self._buckets[project] = level, now
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)
        return wait_seconds
