"""Which run is looked at next, and when: soon after its news, and without taking the machine from ingest."""

from __future__ import annotations

import threading
import time
from heapq import heapify, heappop, heappush

_GATHER = 0.2
"""Seconds until a run that was quiet is looked at: what comes with the first news is looked at together."""
_PAUSE = 0.2
_SHARE = 5.0
"""All runs together are looked at for at most so small a part of the time: 1/5 of one core."""
_BUSY = 10.0
"""Seconds: who was looked at within them counts as busy."""
_COMING = 0.5
"""Seconds: as long after a commit, points are thought to be coming in, and looks rest between each other."""
_LONGEST_REST = 1.0
_TIDY = 1.0
"""Seconds between two looks through what is remembered."""
_SPARE = 64
"""Entries of the heap that count no more and may stay, beside as many as there are that do."""
_FIRST_DELAY = 10.0
_LAST_DELAY = 600.0


class AnalysisScheduler:
    """The runs that are due, each when it is. One thread takes its turns, any may bring news.

    Of a run that nobody waits for, nothing is remembered once it is not busy any more.
    """

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._due: dict[int, float] = {}
        self._order: list[tuple[float, int]] = []  # a heap; what is not as in `_due` counts no more
        self._rested: dict[int, float] = {}
        self._delay: dict[int, float] = {}
        self._cost: dict[int, float] = {}
        self._free = 0.0  # when somebody may be looked at at all
        self._came = 0.0
        self._tidied = 0.0
        self.stopped = False

    def stop(self) -> None:
        """Nobody is looked at any more."""
        with self._wake:
            self.stopped = True
            self._wake.notify_all()

    def points(self, run_id: int) -> None:
        """Points of this run have come."""
        self._came = time.monotonic()
        self.news(run_id)

    def news(self, run_id: int) -> None:
        """This run is to be looked at soon."""
        with self._wake:
            self._delay.pop(run_id, None)
            now = time.monotonic()
            due = max(now, self._rested[run_id]) if run_id in self._rested else now + _GATHER
            # the thread that waits is woken by the first news alone: a flood of them must cost nothing
            if run_id not in self._due or due < self._due[run_id]:
                self._put(run_id, due)
                self._wake.notify_all()

    def next(self, patience: float | None) -> int | None:
        """The run whose look is due, once it is; None after so many seconds, or when it is time to stop."""
        end = None if patience is None else time.monotonic() + patience
        with self._wake:
            while not self.stopped:
                at, run_id = self._first()
                now = time.monotonic()
                if at is not None and now < self._came + _COMING:
                    at = max(at, self._free)
                if run_id is not None and at is not None and at <= now:
                    heappop(self._order)
                    del self._due[run_id]
                    return run_id
                if end is not None and end <= now:
                    return None
                waits = [moment - now for moment in (at, end) if moment is not None]
                self._wake.wait(min(waits, default=None))
            return None

    def looked(self, run_id: int, cost: float, *, again: bool) -> None:
        """Leave the run alone for a while; `again`: come back without news, after ever longer times."""
        now = time.monotonic()
        with self._wake:
            self._free = now + min(_LONGEST_REST, (_SHARE - 1) * cost)
            if now >= self._tidied + _TIDY:
                self._tidy(now, run_id)
            # a look at everything, as the first one is, says nothing of what the next one costs
            usual = min(cost, self._cost.get(run_id, 0.0))
            self._cost[run_id] = cost
            rested = self._rested[run_id] = now + max(_PAUSE, _SHARE * usual * max(len(self._rested), 1))
            if run_id in self._due:  # by news that came during the look
                self._put(run_id, max(rested, self._due[run_id]))
            elif again:
                delay = self._delay.get(run_id, _FIRST_DELAY)
                self._delay[run_id] = min(1.5 * delay, _LAST_DELAY)
                self._put(run_id, max(rested, now + delay))

    def _put(self, run_id: int, due: float) -> None:
        self._due[run_id] = due
        heappush(self._order, (due, run_id))
        if len(self._order) > 2 * len(self._due) + _SPARE:
            self._order = [(at, one) for one, at in self._due.items()]
            heapify(self._order)

    def _first(self) -> tuple[float, int] | tuple[None, None]:
        """When somebody is due first, and who it is."""
        while self._order:
            at, run_id = self._order[0]
            if self._due.get(run_id) == at:
                return at, run_id
            heappop(self._order)
        return None, None

    def _tidy(self, now: float, looked: int) -> None:
        """Forget who is not busy any more, and what is known of those whom nobody waits for either."""
        self._tidied = now
        self._rested = {one: until for one, until in self._rested.items() if until > now - _BUSY}
        awaited = self._due.keys() | {looked}
        self._delay = {one: delay for one, delay in self._delay.items() if one in awaited}
        awaited |= self._rested.keys()
        self._cost = {one: cost for one, cost in self._cost.items() if one in awaited}
