"""A thread that adds the notifications that time alone causes to the outbox."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from holter.server.alerting.routing import NotificationPolicy
from holter.server.alerting.scheduled import enqueue_scheduled
from holter.server.periodic_check import PeriodicCheck
from holter.server.worker_progress import WorkerTurn, ignore_turn

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
        self._checks = PeriodicCheck("due notifications", self.check, seconds=CHECK_SECONDS, on_turn=on_turn)

    def start(self) -> None:
        """Start the thread; without channels there is nothing to do."""
        if self._policy.channels:
            self._checks.start()

    def stop(self) -> None:
        """Begin no further check."""
        self._checks.stop()

    def close(self) -> None:
        """Stop after the check in progress."""
        self._checks.close()

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
