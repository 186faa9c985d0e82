"""Checks that a thread repeats, and since when they have followed each other without a gap."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from holter.server.worker_progress import WorkerTurn, ignore_turn

_logger = logging.getLogger(__name__)


class PeriodicCheck:
    """Calls a check every so many seconds in a thread of its own; one that fails is logged and repeated."""

    def __init__(
        self,
        subject: str,
        check: Callable[[], object],
        *,
        seconds: float,
        on_turn: WorkerTurn = ignore_turn,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """`subject`: what is checked, in the plural, for the log. `on_failure`: called after each failure."""
        self._subject = subject
        self._check = check
        self._seconds = seconds
        self._on_turn = on_turn
        self._on_failure = on_failure
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"check of {subject}", daemon=True)

    def start(self) -> None:
        """Start the thread; the first check follows after the interval."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no further check."""
        self._stop.set()

    def close(self) -> None:
        """Stop after the check in progress."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        self._on_turn()
        while not self._stop.wait(self._seconds):
            try:
                self._check()
                self._on_turn()
            except Exception:
                self._on_failure()
                _logger.exception(
                    "%s cannot be checked; next attempt in %.0f s", self._subject, self._seconds
                )


class ObservedPeriod:
    """Since when checks follow each other without a gap: what arrived in a gap is not known."""

    def __init__(self, clock: Callable[[], float], *, longest_gap: float) -> None:
        """`longest_gap`: seconds between two checks; more if the machine was suspended or its clock set."""
        self._clock = clock
        self._longest_gap = longest_gap
        self._since = self._checked_at = clock()

    def restart(self) -> None:
        """Nothing is known of what arrived before now."""
        self._since = self._checked_at = self._clock()

    def since(self, now: float) -> float:
        """When the period began that a check at `now` continues."""
        if not 0 <= now - self._checked_at <= self._longest_gap:
            self._since = now
        self._checked_at = now
        return self._since
