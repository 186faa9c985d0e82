"""Stored bytes per project: measured every 30 s in a background thread, incremented by writes in between."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

from sqlalchemy import ColumnElement, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from holter.server.database import reading
from holter.server.models import Chunk, LogEntry, Project, RunRecord, SeriesRow, Timeline
from holter.server.store.types import SeriesRefusal

MEASURE_INTERVAL = 30.0
_MAX_PROJECTS = 10_000  # projects; an evicted one is measured again
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _ProjectUsage:
    size: int = 0
    measured_at: float = float("-inf")


class StorageUsage:
    """Bytes of projects that have a quota. Until the first measurement nothing is refused."""

    def __init__(self, engine: Engine, *, interval: float = MEASURE_INTERVAL) -> None:
        self._engine = engine
        self._interval = interval
        self._projects: OrderedDict[str, _ProjectUsage] = OrderedDict()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="holter-store-usage")

    def refusal(self, project: str, max_bytes: int) -> SeriesRefusal | None:
        """Return a refusal if the project has reached its quota of `max_bytes` (0: no quota), else None."""
        if not max_bytes:
            return None
        with self._lock:
            usage = self._projects.setdefault(project, _ProjectUsage())
            self._projects.move_to_end(project)
            if len(self._projects) > _MAX_PROJECTS:
                self._projects.popitem(last=False)
            size, due = usage.size, monotonic() - usage.measured_at >= self._interval
            if due:
                usage.measured_at = monotonic()
        if due:
            self._executor.submit(self._measure, project)
        if size < max_bytes:
            return None
        reason = f"project {project!r} stores {size:,} bytes of points, max_bytes allows {max_bytes:,}"
        return SeriesRefusal(what="max_bytes", series=0, reason=f"{reason}; delete runs or raise the quota")

    def add(self, project: str, size: int) -> None:
        """Add bytes written since the last measurement."""
        with self._lock:
            if project in self._projects:
                self._projects[project].size += size

    def close(self) -> None:
        """Stop the thread after the measurement in progress."""
        self._executor.shutdown(cancel_futures=True)

    def _measure(self, project: str) -> None:
        try:
            size = stored_bytes(self._engine, project)
        except SQLAlchemyError:
            _log.exception("could not measure the stored bytes of project %r; retrying later", project)
            return
        with self._lock:
            if project in self._projects:
                self._projects[project].size = size


def stored_bytes(engine: Engine, project: str) -> int:
    """Return the bytes of a project's points as stored: log, chunks and timelines."""
    run = select(RunRecord.id).join(Project).where(Project.name == project)
    series = select(SeriesRow.id).where(SeriesRow.run_id.in_(run))
    with reading(engine) as connection:
        return sum(
            int(connection.scalar(select(func.coalesce(func.sum(size), 0)).where(condition)) or 0)
            for size, condition in (
                (_bytes(LogEntry.payload), LogEntry.run_id.in_(run)),
                (_bytes(Timeline.payload), Timeline.run_id.in_(run)),
                (_bytes(Chunk.payload) + _bytes(Chunk.pyramid), Chunk.series_id.in_(series)),
            )
        )


def _bytes(column: object) -> ColumnElement[int]:
    return func.length(column)
