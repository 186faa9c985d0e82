"""Whether runs are live, what the time on their clock is, and whether they are analyzed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Engine, bindparam, func, or_, select
from sqlalchemy.orm import Session

from holter.server.database import reading
from holter.server.models.alerting import AnalysisRow
from holter.server.models.points import Attempt, Project, RunRecord

MAX_LIVE_DELAY = 900.0
"""Seconds: a run is live if its newest point was logged at most this long before it arrived."""
STALE_AFTER = 86_400.0
"""Seconds without points after which a run is not checked for stalls and causes no notifications."""

# built once: building a statement takes several times as long as running it
_STATUS = (
    select(RunRecord.created_at, RunRecord.updated_at, RunRecord.finished_at, func.max(Attempt.last_time))
    .outerjoin(Attempt, Attempt.run_id == RunRecord.id)
    .where(RunRecord.id == bindparam("run"), RunRecord.deleted_at.is_(None))
    .group_by(RunRecord.id)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStatus:
    """Times of a run in Unix seconds; `last_time` is the time of its newest point."""

    created_at: float
    updated_at: float
    last_time: float | None
    finished_at: float | None

    def is_live(self, now: float) -> bool:
        """Whether the run's points arrive while they are logged, so that people want notifications.

        A log without a clock counts as live once it has grown for longer than an import takes.
        """
        if now - self.updated_at > STALE_AFTER:
            return False
        if self.last_time is None:
            return self.updated_at - self.created_at > 60
        return abs(self.updated_at - self.last_time) <= MAX_LIVE_DELAY

    def log_time(self, now: float) -> float | None:
        """`now` on the clock of the run's own log; None if the run is finished or not live.

        The time since the newest point arrived is measured on the server, so that a node whose clock is
        wrong does not seem to stall.
        """
        if self.finished_at is not None or self.last_time is None or not self.is_live(now):
            return None
        return self.last_time + max(0.0, now - self.updated_at)

    def state(
        self, now: float, *, stalled: bool, has_points: bool
    ) -> Literal["running", "stalled", "finished"]:
        """Whether the run is running or over; `stalled`: it has an open stall."""
        if self.finished_at is not None and self.finished_at >= self.updated_at:
            return "finished"
        if stalled:
            return "stalled"
        # a launch that has only stated its configuration may hang before its first step
        starting = not has_points and now - self.updated_at < STALE_AFTER
        return "running" if starting or self.is_live(now) else "finished"


def failed_analyses(engine: Engine) -> dict[str, str]:
    """The error message of each run (PROJECT/NAME) whose newest analysis failed."""
    query = (
        select(Project.name, RunRecord.name, AnalysisRow.error)
        .join(RunRecord, RunRecord.project_id == Project.id)
        .join(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .where(AnalysisRow.error.is_not(None))
        .order_by(RunRecord.id)
    )
    with Session(engine) as session:
        return {f"{project}/{run}": str(error) for project, run, error in session.execute(query)}


def load_status(engine: Engine, run_id: int) -> RunStatus | None:
    """The present status of a run, None if it is deleted."""
    with reading(engine) as connection:
        row = connection.execute(_STATUS, {"run": run_id}).one_or_none()
    if row is None:
        return None
    created_at, updated_at, finished_at, last_time = row
    return RunStatus(
        created_at=created_at, updated_at=updated_at, finished_at=finished_at, last_time=last_time
    )


def runs_to_analyze(engine: Engine, now: float) -> list[int]:
    """The runs that have changed since their last analysis or may have stalled, the newest first."""
    due = or_(
        AnalysisRow.run_id.is_(None),
        RunRecord.updated_at != AnalysisRow.seen_at,
        RunRecord.finished_at > AnalysisRow.looked_at,
        RunRecord.finished_at.is_(None) & (RunRecord.updated_at > now - STALE_AFTER),
    )
    query = select(RunRecord.id).outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
    query = query.where(due, RunRecord.deleted_at.is_(None))
    with Session(engine) as session:
        return list(session.scalars(query.order_by(RunRecord.updated_at.desc())))
