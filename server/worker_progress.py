"""When each background worker last completed a turn: one that hangs is noticed although the process lives."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

WorkerTurn = Callable[[], None]
"""Called by a worker after each turn that it completed, and when its thread starts."""


def ignore_turn() -> None:
    """A `WorkerTurn` that nobody counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerStatus:
    """A worker's turns since the start, and the seconds since the last one was completed."""

    worker: str
    turns: int
    seconds_since: float


@dataclass(slots=True)
class _Turns:
    count: int
    completed_at: float


class WorkerProgress:
    """The completed turns of all registered workers. Threads may share it.

    A worker that has nothing to do completes a turn every few seconds, too. Time is the monotonic clock's, so
    that neither a clock that is set nor a suspended machine looks like a hang.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._turns: dict[str, _Turns] = {}

    def register(self, worker: str) -> WorkerTurn:
        """Expect turns of a worker from now on; returns what it calls after each."""
        with self._lock:
            self._turns[worker] = _Turns(0, self._monotonic())

        def complete_turn() -> None:
            with self._lock:
                turns = self._turns[worker]
                turns.count += 1
                turns.completed_at = self._monotonic()

        return complete_turn

    def statuses(self) -> list[WorkerStatus]:
        """All workers by name."""
        with self._lock:
            now = self._monotonic()
            return [
                WorkerStatus(worker=name, turns=turns.count, seconds_since=now - turns.completed_at)
                for name, turns in sorted(self._turns.items())
            ]

    def hanging(self, limit: float) -> dict[str, float]:
        """The workers without a completed turn for more than `limit` seconds, with these seconds."""
        return {
            status.worker: status.seconds_since for status in self.statuses() if status.seconds_since > limit
        }
