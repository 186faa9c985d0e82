"""The maintenance thread: purges deleted runs, applies retention, releases free space."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from sqlalchemy import Engine

from holter.server.clock import Clock
from holter.server.database.free_space import release_free_pages
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.downsampling import NO_LOCK
from holter.server.maintenance.retention import RetentionResult, apply_retention
from holter.settings.projects import RetentionSettings

_logger = logging.getLogger(__name__)

ROUND_INTERVAL = 600.0
"""Seconds between two maintenance rounds."""
MIN_STABLE_CLOCK = 3600.0
"""Seconds without clock jumps before anything is downsampled or deleted by age."""


class MaintenanceWorker:
    """One thread. Its work may be interrupted at any moment and is resumed later, by any process.

    `rewrite_lock` is held while it rewrites chunks.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Callable[[str], RetentionSettings],
        *,
        clock: Clock,
        rewrite_lock: AbstractContextManager[object] = NO_LOCK,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._rewrite_lock = rewrite_lock
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holter-maintenance", daemon=True)

    def start(self) -> None:
        """Start, with the work an earlier process left."""
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end after the transaction in progress."""
        self._stop.set()
        self._wake.set()

    def close(self) -> None:
        """Stop, and wait for the thread's end."""
        self.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def delete(self, run_id: int) -> None:
        """Delete a run: hidden from now on; its rows are removed in the background."""
        delete_run(self._engine, run_id, self._clock())
        self._wake.set()

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(ROUND_INTERVAL)
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                self._round()
            except Exception:
                _logger.exception("maintenance failed; the next round is in %.0f s", ROUND_INTERVAL)

    def _round(self) -> None:
        freed_runs = purge(self._engine, pause=self._stop.wait, stopping=self._stop.is_set)
        for result in self._apply_retention():
            if result.run.bucket is None or result.after < result.before:
                freed_runs += 1
                _logger.info("%s/%s: %s", result.run.project, result.run.name, result.description)
        if freed_runs:
            release_free_pages(self._engine)

    def _apply_retention(self) -> Iterable[RetentionResult]:
        # data deleted because of a wrong clock cannot be recovered
        if self._clock.settled() < MIN_STABLE_CLOCK:
            return ()
        return apply_retention(
            self._engine,
            self._settings,
            self._clock(),
            stopping=self._stop.is_set,
            rewrite_lock=self._rewrite_lock,
        )
