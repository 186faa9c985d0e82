"""Keeps house in the background: deleted runs, retention, and the space that becomes free."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from sqlalchemy import Engine

from holter.server.clock import Clock
from holter.server.database.free_space import give_back
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.downsampling import NOBODY_ELSE
from holter.server.maintenance.retention import Kept, keep
from holter.settings.projects import RetentionSettings

_logger = logging.getLogger(__name__)

EVERY = 600.0
"""Seconds between two rounds."""
SURE = 3600.0
"""Seconds for which the clock must have gone evenly before anything is thinned or deleted by it."""


class Keeper:
    """One thread. What it does may be ended at any moment, and is done by whoever comes next.

    `turn` is held while it exchanges chunks, as whoever else in this process does so.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Callable[[str], RetentionSettings],
        *,
        clock: Clock,
        turn: AbstractContextManager[object] = NOBODY_ELSE,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._turn = turn
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holter-keeper", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier process has left."""
        self._wake.set()
        self._thread.start()

    def close(self) -> None:
        """End after the transaction that is under way."""
        self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def delete(self, run_id: int) -> None:
        """Delete a run: nobody sees it from now on; what it holds goes in the background."""
        delete_run(self._engine, run_id, self._clock())
        self._wake.set()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(EVERY)
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                self._round()
            except Exception:
                _logger.exception("keeping house failed; the next round is in %.0f s", EVERY)

    def _round(self) -> None:
        freed = purge(self._engine, pause=self._stop.wait, stopping=self._stop.is_set)
        for kept in self._keep():
            if kept.due.bucket is None or kept.after < kept.before:
                freed += 1
                _logger.info("%s/%s: %s", kept.due.project, kept.due.name, kept.said)
        if freed:
            give_back(self._engine)

    def _keep(self) -> Iterable[Kept]:
        # what a clock that was wrong for a while has deleted, no correction of it brings back
        if self._clock.settled() < SURE:
            return ()
        return keep(self._engine, self._settings, self._clock(), stopping=self._stop.is_set, turn=self._turn)
