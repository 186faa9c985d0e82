"""The runs whose newest values are unusual, in the order in which they became so."""

from __future__ import annotations

from math import inf

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 4.0
"""Seconds until a run is urgent again, at first and at last: some log such values with every step, and many
findings need some tens of them. A message is to come within five seconds of the point that suffices."""
_GROWTH = 1.5
_FORGET = 60.0
"""Seconds after which a run is as one that was never urgent."""


class UrgentRuns:
    """A queue, in which a run is once, and the less often, the more often it is urgent in sequence."""

    def __init__(self) -> None:
        self._waiting: dict[int, None] = {}
        self._later: dict[int, float] = {}  # runs that were urgent just before, and when they are again
        self._pause: dict[int, tuple[float, float]] = {}  # since when, and for how long

    def __contains__(self, run_id: int) -> bool:
        return run_id in self._waiting or run_id in self._later

    def add(self, run_id: int, now: float) -> bool:
        """Append a run, after a pause if it was urgent just before; whether it waits already now."""
        if run_id in self._waiting:
            return True
        since, pause = self._pause.get(run_id, (-inf, _FIRST_PAUSE / _GROWTH))
        if now < since + pause:
            self._later[run_id] = since + pause
            return False
        self._append(run_id, now)
        return True

    def first(self, now: float) -> int | None:
        """The run whose turn it is, None if none waits."""
        for run_id in [run for run, due in self._later.items() if due <= now]:
            self._append(run_id, now)
        return next(iter(self._waiting), None)

    def next_due(self) -> float | None:
        """When the next pause ends, None if there is none."""
        return min(self._later.values(), default=None)

    def remove(self, run_id: int) -> None:
        """Forget that a run waits: it has its turn."""
        self._waiting.pop(run_id, None)
        self._later.pop(run_id, None)

    def tidy(self, now: float) -> None:
        """Forget runs that were not urgent for a while."""
        self._pause = {run: known for run, known in self._pause.items() if known[0] > now - _FORGET}

    def _append(self, run_id: int, now: float) -> None:
        _, pause = self._pause.get(run_id, (-inf, _FIRST_PAUSE / _GROWTH))
        self._pause[run_id] = now, min(pause * _GROWTH, _LONGEST_PAUSE)
        self._later.pop(run_id, None)
        self._waiting[run_id] = None
