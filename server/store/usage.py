"""How many bytes a project keeps: measured now and then, in a thread of its own, counted on from there."""

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
from holter.server.models import Chunk, LogEntry, Project, Run, SeriesRow, Timeline
from holter.server.store.types import Refusal

MEASURED_EVERY = 30.0
_REMEMBERED = 10_000  # projects; one that is forgotten is measured anew
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Measured:
    size: int = 0
    at: float = float("-inf")


class Usage:
    """The bytes of projects that have a bound on them. Before the first measurement nothing is refused."""

    def __init__(self, engine: Engine, *, every: float = MEASURED_EVERY) -> None:
        self._engine = engine
        self._every = every
        self._known: OrderedDict[str, _Measured] = OrderedDict()
        self._guard = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="holter-store-usage")

    def refusal(self, project: str, most: int) -> Refusal | None:
        """Why nothing more may be kept, None while there is room; `most` 0: there always is."""
        if not most:
            return None
        with self._guard:
            known = self._known.setdefault(project, _Measured())
            self._known.move_to_end(project)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            size, due = known.size, monotonic() - known.at >= self._every
            if due:
                known.at = monotonic()
        if due:
            self._thread.submit(self._measure, project)
        if size < most:
            return None
        reason = f"project {project!r} keeps {size:,} bytes of points, max_bytes allows {most:,}"
        return Refusal(what="max_bytes", series=0, reason=f"{reason}; delete runs or raise the quota")

    def add(self, project: str, size: int) -> None:
        """Count what was written since the last measurement."""
        with self._guard:
            if project in self._known:
                self._known[project].size += size

    def close(self) -> None:
        """End the thread, after a measurement that is under way."""
        self._thread.shutdown(cancel_futures=True)

    def _measure(self, project: str) -> None:
        try:
            size = stored(self._engine, project)
        except SQLAlchemyError:
            _log.exception("the bytes of project %r were not counted; trying again later", project)
            return
        with self._guard:
            if project in self._known:
                self._known[project].size = size


def stored(engine: Engine, project: str) -> int:
    """The bytes of a project's points as they are stored: log, chunks and timelines."""
    run = select(Run.id).join(Project).where(Project.name == project)
    series = select(SeriesRow.id).where(SeriesRow.run_id.in_(run))
    with reading(engine) as connection:
        return sum(
            int(connection.scalar(select(func.coalesce(func.sum(size), 0)).where(whose)) or 0)
            for size, whose in (
                (_bytes(LogEntry.payload), LogEntry.run_id.in_(run)),
                (_bytes(Timeline.payload), Timeline.run_id.in_(run)),
                (_bytes(Chunk.payload) + _bytes(Chunk.pyramid), Chunk.series_id.in_(series)),
            )
        )


def _bytes(column: object) -> ColumnElement[int]:
    return func.length(column)
