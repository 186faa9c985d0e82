"""A thread that adds the notifications that time alone causes to the outbox."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from holter.server.alerting.routing import NotificationPolicy
from holter.server.alerting.scheduled import enqueue_scheduled
from holter.server.worker_progress import WorkerTurn, ignore_turn

_logger = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""Seconds between two checks."""


class NotificationScheduler:
    """One thread. Of several servers with one database, the first adds what is due."""

    def __init__(
        self,
        engine: Engine,
        policy: NotificationPolicy,
        wake_sender: Callable[[], None],
        *,
        clock: Callable[[], float] = time.time,
        on_turn: WorkerTurn = ignore_turn,
    ) -> None:
        self._engine = engine
        self._policy = policy
        self._wake_sender = wake_sender
        self._clock = clock
        self._on_turn = on_turn
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="notification scheduler", daemon=True)

    def start(self) -> None:
        """Start the thread; without channels there is nothing to do."""
        if self._policy.channels:
            self._thread.start()

    def stop(self) -> None:
        """Begin no further check."""
        self._stop.set()

    def close(self) -> None:
        """Stop after the check in progress."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> int:
        """Add what is due now; returns how many notifications that are."""
        try:
            with Session(self._engine) as session, session.begin():
                added = enqueue_scheduled(session, self._policy, now=self._clock())
        except IntegrityError:  # another server was first: its rows have the same keys
            return 0
        if added:
            self._wake_sender()
        return added

    def _work(self) -> None:
        self._on_turn()
        while not self._stop.wait(CHECK_SECONDS):
            try:
                self.check()
                self._on_turn()
            except Exception:  # while the database is down, nothing is due that could be sent
                _logger.exception("due notifications cannot be checked; next in %.0f s", CHECK_SECONDS)
