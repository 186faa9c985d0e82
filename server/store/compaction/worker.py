"""The compaction thread: compacts runs whose log has grown, and runs that have become idle."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DatabaseError

from holter.server.database import is_damage, reading
from holter.server.database.free_space import checkpoint, release_free_pages
from holter.server.models import LogEntry
from holter.server.store.compaction.compaction import CompactionStoppedError, compact
from holter.server.store.errors import ConcurrentRewriteError
from holter.server.store.types import Commit

_log = logging.getLogger(__name__)

_MAX_PENDING_POINTS = 262_144
_MAX_PENDING_COMMITS = 512
_IDLE_SECONDS = 15.0
_POLL_INTERVAL = 0.5
_RETRY_SECONDS = 60.0
_MAX_TRIES = 5


@dataclass(slots=True)
class _PendingCompaction:
    points: int
    commits: int
    last_commit: float


class Compactor:
    """Counts commits per run, compacts one run at a time in its own thread, and reports each
    (`compacted`).
    """

    def __init__(self, engine: Engine, compacted: Callable[[int], None]) -> None:
        self._engine = engine
        self._compacted = compacted
        self._pending: dict[int, _PendingCompaction] = {}
        self._lock = threading.Lock()
        self.rewrite_lock = threading.Lock()  # held while chunks are rewritten
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holter-store-compactor", daemon=True)

    def start(self) -> None:
        """Start, with the log entries that an earlier process left."""
        query = select(LogEntry.run_id, func.sum(LogEntry.points), func.count()).group_by(LogEntry.run_id)
        try:
            with reading(self._engine) as connection:
                for run_id, points, entries in connection.execute(query):
                    self._pending[run_id] = _PendingCompaction(int(points), entries, monotonic())
        except DatabaseError as error:
            if not is_damage(error):
                raise
            _log.exception("the log is damaged: runs in it are compacted after their next commit")
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end soon; what is not compacted stays in the log."""
        self._stop.set()

    def close(self, seconds: float | None = None) -> bool:
        """Stop, and wait for the thread's end, for so many seconds at most; whether it has ended."""
        self.stop()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def on_commit(self, commit: Commit) -> None:
        """Count a commit."""
        with self._lock:
            pending = self._pending.setdefault(commit.run_id, _PendingCompaction(0, 0, 0.0))
            pending.points += commit.points
            pending.commits += 1
            pending.last_commit = monotonic()

    def compact(self, run_id: int | None = None) -> int:
        """Compact a run, or every run with a log, now; returns the number of chunks written."""
        with reading(self._engine) as connection:
            runs = connection.scalars(select(LogEntry.run_id).distinct().order_by(LogEntry.run_id)).all()
        written = sum(self._compact(run) for run in runs if run_id in (None, run))
        release_free_pages(self._engine)
        return written

    def _compact(self, run_id: int) -> int:
        with self.rewrite_lock:
            for _ in range(_MAX_TRIES - 1):
                with suppress(ConcurrentRewriteError):  # another server rewrote chunks first: read again
                    return compact(self._engine, run_id, self._stop.is_set)
            return compact(self._engine, run_id, self._stop.is_set)

    def _work(self) -> None:
        while not self._stop.wait(_POLL_INTERVAL):
            self._checkpoint()
            for run_id, idle in self._due():
                try:
                    self._compact(run_id)
                    if self._stop.is_set():
                        return
                    if idle:
                        release_free_pages(self._engine)
                    self._compacted(run_id)
                except CompactionStoppedError:
                    return
                except Exception:
                    # the points are durable in the log; a failing run must not block the others
                    _log.exception("run %d was not compacted; retrying in %.0f s", run_id, _RETRY_SECONDS)
                    with self._lock:
                        self._pending.setdefault(
                            run_id, _PendingCompaction(0, 0, monotonic() + _RETRY_SECONDS - _IDLE_SECONDS)
                        )
                if self._stop.is_set():
                    return

    def _checkpoint(self) -> None:
        try:
            checkpoint(self._engine)
        except Exception:
            _log.exception("the write-ahead log was not checkpointed; it grows until it is")

    def _due(self) -> list[tuple[int, bool]]:
        """Return the runs to compact now, each with whether it is idle."""
        now = monotonic()
        with self._lock:
            due = [
                (run_id, now - pending.last_commit >= _IDLE_SECONDS)
                for run_id, pending in self._pending.items()
                if pending.points >= _MAX_PENDING_POINTS
                or pending.commits >= _MAX_PENDING_COMMITS
                or now - pending.last_commit >= _IDLE_SECONDS
            ]
            for run_id, _ in due:
                del self._pending[run_id]
        return due
