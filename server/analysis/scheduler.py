"""Schedules analysis passes: soon after new points, without taking the processor from ingest and readers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from holter.server.analysis.processor_share import ProcessorShare
from holter.server.analysis.urgent_runs import UrgentRuns

_GATHER = 0.2
"""Seconds by which the first points of an idle run delay its pass, so that one pass covers what follows."""
_PAUSE = 0.2
"""Seconds between two passes of a run at least."""
_URGENT_IN_SEQUENCE = 8
"""Passes of urgent runs after which another run that is due has its turn, and passes pause as usual."""
_BUSY = 10.0
"""Seconds since its last pass for which a run counts as busy."""
_COMING = 0.5
"""Seconds since the last commit or read for which the server counts as active: passes pause in between."""
_LONGEST_REST = 1.0
"""Seconds of pause between passes of different runs at most."""
_TIDY = 1.0
"""Seconds between two clean-ups of the tables below."""
_SPARE = 64
"""Obsolete heap entries that are tolerated in addition to as many as there are valid ones."""
_FIRST_DELAY = 10.0
_LAST_DELAY = 600.0
"""Seconds until a pass without new points is repeated, at first and at last; 1.5 times as long each time."""


class AnalysisScheduler:
    """The runs that are due for analysis, with their times. One thread takes them, any thread adds them.

    Nothing is stored of a run that is neither due nor busy.
    """

    def __init__(self, share: Callable[[], float] | None = None) -> None:
        """`share`: the part of a core that passes of all runs together may take while points arrive."""
        self._share = share or ProcessorShare().current
        self._wake = threading.Condition()
        self._due: dict[int, float] = {}
        self._order: list[tuple[float, int]] = []  # a heap; entries that differ from `_due` are obsolete
        self._rested: dict[int, float] = {}
        self._delay: dict[int, float] = {}
        self._cost: dict[int, float] = {}
        self._urgent = UrgentRuns()
        self._urgent_in_sequence = 0
        self._free = 0.0  # when the next pass of any run may begin
        self._last_activity = 0.0  # when points or a reader arrived
        self._tidied = 0.0
        self.stopped = False

    def stop(self) -> None:
        """Return no more runs; wakes the thread that waits in `next_run`."""
        with self._wake:
            self.stopped = True
            self._wake.notify_all()

    def points_arrived(self, run_id: int, *, urgent: bool = False) -> None:
        """Schedule a run because points of it were committed; `urgent`: before all others."""
        self._last_activity = now = time.monotonic()
        if urgent:
            with self._wake:
                is_next = self._urgent.add(run_id, now)
                self._delay.pop(run_id, None)
                self._wake.notify_all()
                if is_next:
                    return
        self.request(run_id)

    def reader_arrived(self) -> None:
        """Leave a part of the processor to a request that reads, as to points. Fast, from any thread."""
        self._last_activity = time.monotonic()

    def request(self, run_id: int) -> None:
        """Schedule a run soon."""
        with self._wake:
            self._delay.pop(run_id, None)
            now = time.monotonic()
            due = max(now, self._rested[run_id]) if run_id in self._rested else now + _GATHER
            # only the first request wakes the waiting thread: a flood of them must cost nothing
            if run_id not in self._due or due < self._due[run_id]:
                self._put(run_id, due)
                self._wake.notify_all()

    def next_run(self, timeout: float | None) -> int | None:
        """Wait until a run is due and return it; None after `timeout` seconds or when stopped."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._wake:
            while not self.stopped:
                now = time.monotonic()
                is_active = now < self._last_activity + _COMING
                due, run_id = self._first()
                urgent = self._urgent.first(now)
                if urgent is not None and (self._urgent_in_sequence < _URGENT_IN_SEQUENCE or not is_active):
                    return self._take_urgent(urgent)
                if due is not None and is_active:
                    due = max(due, self._free)
                if run_id is not None and due is not None and due <= now:
                    self._urgent_in_sequence = 0
                    heappop(self._order)
                    del self._due[run_id]
                    self._urgent.remove(run_id)
                    return run_id
                if urgent is not None and now >= self._free:
                    return self._take_urgent(urgent)
                if end is not None and end <= now:
                    return None
                free = None if urgent is None else self._free
                moments = (due, free, self._urgent.next_due(), end)
                waits = [moment - now for moment in moments if moment is not None]
                self._wake.wait(min(waits, default=None))
            return None

    def _take_urgent(self, run_id: int) -> int:
        self._urgent_in_sequence += 1
        self._urgent.remove(run_id)
        self._due.pop(run_id, None)
        return run_id

    def finished(self, run_id: int, cost: float, *, again: bool) -> None:
        """Record that a pass took `cost` seconds; `again`: repeat it without new points, ever more rarely."""
        now = time.monotonic()
        with self._wake:
            share = self._share()
            self._free = now + min(_LONGEST_REST, (1 / share - 1) * cost)
            if now >= self._tidied + _TIDY:
                self._tidy(now, run_id)
            # the cost of a pass over everything, as the first one is, does not predict that of the next
            expected = min(cost, self._cost.get(run_id, 0.0))
            self._cost[run_id] = cost
            rested = now + max(_PAUSE, expected * max(len(self._rested), 1) / share)
            self._rested[run_id] = rested
            due = self._due.get(run_id)  # requested during the pass
            if due is not None:
                self._put(run_id, max(rested, due))
            elif again and run_id not in self._urgent:
                delay = self._delay.get(run_id, _FIRST_DELAY)
                self._delay[run_id] = min(1.5 * delay, _LAST_DELAY)
                self._put(run_id, max(rested, now + delay))

    def _put(self, run_id: int, due: float) -> None:
        self._due[run_id] = due
        heappush(self._order, (due, run_id))
        if len(self._order) > 2 * len(self._due) + _SPARE:
            self._order = [(due, run_id) for run_id, due in self._due.items()]
            heapify(self._order)

    def _first(self) -> tuple[float, int] | tuple[None, None]:
        """The time and id of the run that is due first."""
        while self._order:
            due, run_id = self._order[0]
            if self._due.get(run_id) == due:
                return due, run_id
            heappop(self._order)
        return None, None

    def _tidy(self, now: float, current: int) -> None:
        """Forget runs that are not busy, and costs and delays of those that are not due either."""
        self._tidied = now
        self._rested = {run: until for run, until in self._rested.items() if until > now - _BUSY}
        self._urgent.tidy(now)
        needed = self._due.keys() | {current}
        self._delay = {run: delay for run, delay in self._delay.items() if run in needed}
        needed |= self._rested.keys()
        self._cost = {run: cost for run, cost in self._cost.items() if run in needed}
