"""Applies retention settings: which runs are downsampled or deleted now."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, func, select

from holter.server.database import reading
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.downsampling import NO_LOCK, downsample_run
from holter.server.models import AnalysisRow, Attempt, DownsamplingRow, Project, RunRecord
from holter.server.store import CorruptDataError, StoreError
from holter.settings.projects import RetentionSettings

DAY = 86_400.0
MAX_DELAY = 900.0
"""Seconds between logging and arrival up to which the clock of a live run is trusted."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class DueRun:
    """A run to downsample or delete. `bucket` is None to delete it; `seen`: it was analysed completely.

    `older_than`: the run is live, and points logged before (Unix seconds) are downsampled.
    """

    run_id: int
    public_id: str
    project: str
    name: str
    bucket: int | None
    seen: bool
    older_than: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionResult:
    """What was done to a run, or would be; numbers of points are those of its chunks."""

    run: DueRun
    before: int = 0
    after: int = 0
    blocking_incident: int | None = None
    problem: str = ""

    @property
    def description(self) -> str:
        """The result as a sentence."""
        if self.problem or self.run.bucket is None:
            return self.problem or "deleted"
        retained = f"{self.after:,} of {self.before:,} points retained"
        if self.blocking_incident is None:
            return retained
        return (
            f"{retained}; points since incident {self.blocking_incident} stay until it recovers or is closed"
        )


def due_runs(engine: Engine, settings: Callable[[str], RetentionSettings], now: float) -> list[DueRun]:
    """Return idle runs and live runs whose retention time has passed, those to delete first.

    A live run is due once a day.
    """
    last = select(func.max(Attempt.last_time)).where(Attempt.run_id == RunRecord.id).scalar_subquery()
    columns = (
        *(
            RunRecord.id,
            RunRecord.public_id,
            RunRecord.name,
            RunRecord.created_at,
            RunRecord.updated_at,
            RunRecord.finished_at,
            RunRecord.revision,
        ),
        last.label("last_time"),
        *(Project.name.label("project"), AnalysisRow.seen_at, AnalysisRow.error),
        *(DownsamplingRow.revision.label("downsampled"), DownsamplingRow.done_at),
    )
    query = (
        select(*columns)
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .outerjoin(DownsamplingRow, DownsamplingRow.run_id == RunRecord.id)
        .where(RunRecord.deleted_at.is_(None))
    )
    with reading(engine) as connection:
        rows = connection.execute(query.order_by(RunRecord.id)).all()
    result = []
    for row in rows:
        limits = settings(row.project)
        idle_days = (now - max(row.updated_at, row.finished_at or 0.0)) / DAY
        is_expired = 0 < limits.delete_after_days < idle_days
        is_downsampled = row.downsampled == row.revision and row.done_at is not None
        is_idle = 0 < limits.full_resolution_days < idle_days and not is_downsampled
        older_than = None if is_expired or is_idle else _live_limit_time(row, limits, now)
        if is_expired or is_idle or older_than is not None:
            result.append(
                DueRun(
                    run_id=row.id,
                    public_id=row.public_id,
                    project=row.project,
                    name=row.name,
                    bucket=None if is_expired else limits.thin_to,
                    seen=row.error is None and (row.seen_at or 0.0) >= (older_than or row.updated_at),
                    older_than=older_than,
                )
            )
    return sorted(result, key=lambda run: run.bucket is not None)


def _live_limit_time(row: Any, limits: RetentionSettings, now: float) -> float | None:
    """Return before when a live run's points are downsampled now, None if they are not.

    Only the run's own clock tells the age of its points, so it must be right: points arrive about when they
    were logged.
    """
    older_than = now - limits.full_resolution_days * DAY
    if not limits.full_resolution_days or row.updated_at < older_than or row.created_at > older_than:
        return None
    clock_is_right = row.last_time is not None and abs(row.updated_at - row.last_time) <= MAX_DELAY
    recently_done = row.done_at is not None and row.done_at > now - DAY
    return older_than if clock_is_right and not recently_done and row.finished_at is None else None


def apply_retention(
    engine: Engine,
    settings: Callable[[str], RetentionSettings],
    now: float,
    *,
    apply: bool = True,
    stopping: Callable[[], bool] = lambda: False,
    rewrite_lock: AbstractContextManager[object] = NO_LOCK,
) -> Iterator[RetentionResult]:
    """Process the due runs one by one; `apply`: False to report only. A failing run does not stop the others.

    `rewrite_lock` is held while chunks are rewritten.
    """
    for run in due_runs(engine, settings, now):
        if stopping():
            return
        try:
            yield _process(engine, run, now, apply=apply, stopping=stopping, rewrite_lock=rewrite_lock)
        except (CorruptDataError, StoreError) as error:
            _logger.warning("run %s/%s was left unchanged: %s", run.project, run.name, error)
            yield RetentionResult(run=run, problem=str(error))


def _process(
    engine: Engine,
    run: DueRun,
    now: float,
    *,
    apply: bool,
    stopping: Callable[[], bool],
    rewrite_lock: AbstractContextManager[object],
) -> RetentionResult:
    if run.bucket is None:
        if apply:
            delete_run(engine, run.run_id, now)
            purge(engine)
        return RetentionResult(run=run)
    if not run.seen:
        # what detection has not seen at full resolution it would never see
        return RetentionResult(run=run, problem="not downsampled: it has not been analysed completely yet")
    result = downsample_run(
        engine,
        run.run_id,
        run.bucket,
        now,
        older_than=run.older_than,
        apply=apply,
        stopping=stopping,
        rewrite_lock=rewrite_lock,
    )
    return RetentionResult(
        run=run, before=result.before, after=result.after, blocking_incident=result.blocking_incident
    )
