"""Points a second by project: a bucket that fills at the rate of the quota and may be overdrawn once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from holter.server.store.errors import RateError
from holter.settings.projects import QuotaSettings

_REMEMBERED = 10_000  # projects; one that is forgotten begins with a full bucket


class Rates:
    """Lets deliveries in as long as their project's bucket is not empty. Threads may share it."""

    def __init__(
        self, quota: Callable[[str], QuotaSettings], *, clock: Callable[[], float] = monotonic
    ) -> None:
        self._quota = quota
        self._clock = clock
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # points, as of when

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed.set()

    def wait(self, project: str, points: int, timeout: float) -> None:
        """Let points of a project in, waiting at most `timeout` seconds. Raises RateError.

        A delivery larger than what is left gets in, too, and those after it wait until that is made up for.
        """
        quota = self._quota(project)
        if not quota.max_points_per_second:
            return
        end = self._clock() + timeout
        while (missing := self._take(project, points, quota)) > 0:
            left = end - self._clock()
            if missing > left or self._closed.wait(missing):
                raise RateError(project, quota.max_points_per_second, missing)

    def _take(self, project: str, points: int, quota: QuotaSettings) -> float:
        """Take points out of the bucket; how many seconds it stays empty where it is."""
        rate, now = quota.max_points_per_second, self._clock()
        with self._guard:
            held, at = self._buckets.pop(project, (rate * quota.burst_seconds, now))
            held = min(rate * quota.burst_seconds, held + rate * (now - at))
            if held > 0:
                held -= points
                missing = 0.0
            else:
                missing = max(-held / rate, 1 / rate)
            self._buckets[project] = held, now
            if len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        return missing
