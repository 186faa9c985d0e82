"""Compacts in the background: runs whose log has grown, and runs that have gone quiet."""

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
from holter.server.database.free_space import checkpoint, give_back
from holter.server.models import LogEntry
from holter.server.store.compaction.compaction import compact
from holter.server.store.errors import ConcurrentRewriteError
from holter.server.store.types import Commit

_log = logging.getLogger(__name__)

_POINTS = 262_144
_COMMITS = 512
_QUIET = 15.0
_LOOK_EVERY = 0.5
_RETRY = 60.0
_TRIES = 5


@dataclass(slots=True)
class _News:
    points: int
    commits: int
    since: float


class Compactor:
    """Hears of commits, compacts in its own thread, one run at a time, and says which (`compacted`)."""

    def __init__(self, engine: Engine, compacted: Callable[[int], None]) -> None:
        self._engine = engine
        self._compacted = compacted
        self._news: dict[int, _News] = {}
        self._guard = threading.Lock()
        self.turn = threading.Lock()  # held while chunks are exchanged
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holter-store-compactor", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier process has left in the log."""
        query = select(LogEntry.run_id, func.sum(LogEntry.points), func.count()).group_by(LogEntry.run_id)
        try:
            with reading(self._engine) as connection:
                for run_id, points, entries in connection.execute(query):
                    self._news[run_id] = _News(int(points), entries, monotonic())
        except DatabaseError as error:
            if not is_damage(error):
                raise
            _log.exception("the log is damaged: a run in it is compacted once it has news")
        self._thread.start()

    def close(self) -> None:
        """End after the compaction that is under way; the log keeps the rest."""
        self._stop.set()
        self._thread.join()

    def heard(self, commit: Commit) -> None:
        """Count a commit."""
        with self._guard:
            news = self._news.setdefault(commit.run_id, _News(0, 0, 0.0))
            news.points += commit.points
            news.commits += 1
            news.since = monotonic()

    def compact(self, run_id: int | None = None) -> int:
        """Compact a run, or every run with a log, now; how many chunks were written."""
        with reading(self._engine) as connection:
            runs = connection.scalars(select(LogEntry.run_id).distinct().order_by(LogEntry.run_id)).all()
        written = sum(self._compact(run) for run in runs if run_id in (None, run))
        give_back(self._engine)
        return written

    def _compact(self, run_id: int) -> int:
        with self.turn:
            for _ in range(_TRIES - 1):
                with suppress(
                    ConcurrentRewriteError
                ):  # another server was quicker: what it has left is looked at
                    return compact(self._engine, run_id)
            return compact(self._engine, run_id)

    def _work(self) -> None:
        while not self._stop.wait(_LOOK_EVERY):
            self._checkpoint()
            for run_id, quiet in self._due():
                try:
                    self._compact(run_id)
                    if quiet:
                        give_back(self._engine)
                    self._compacted(run_id)
                except Exception:
                    # the points are safe in the log; one run must not keep the others waiting
                    _log.exception("run %d was not compacted; trying again in %.0f s", run_id, _RETRY)
                    with self._guard:
                        self._news.setdefault(run_id, _News(0, 0, monotonic() + _RETRY - _QUIET))
                if self._stop.is_set():
                    return

    def _checkpoint(self) -> None:
        try:
            checkpoint(self._engine)
        except Exception:
            _log.exception("the write-ahead log was not moved into the file; it grows until it is")

    def _due(self) -> list[tuple[int, bool]]:
        """The runs to be compacted now, with whether it is because they are quiet."""
        now = monotonic()
        with self._guard:
            due = [
                (run_id, now - news.since >= _QUIET)
                for run_id, news in self._news.items()
                if news.points >= _POINTS or news.commits >= _COMMITS or now - news.since >= _QUIET
            ]
            for run_id, _ in due:
                del self._news[run_id]
        return due
