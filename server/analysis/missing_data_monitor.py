"""A thread that checks for runs whose data does not come; their incidents take the way of all others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session, aliased

from holter.server.alerting.incident import Incident, IncidentState
from holter.server.alerting.incident_rows import read_incidents
from holter.server.alerting.incident_store import IncidentStore
from holter.server.alerting.missing_data import ExpectedRun, detect_run_without_data, end_of_missing_data
from holter.server.analysis.run_status import STALE_AFTER, RunStatus
from holter.server.models.alerting import IncidentRow
from holter.server.models.points import Attempt, RunRecord
from holter.server.models.run_details import RunDetailRow
from holter.server.periodic_check import ObservedPeriod, PeriodicCheck
from holter.server.worker_progress import WorkerTurn, ignore_turn
from holter.settings.alerting import NoDataSettings
from holter.tuning import Tuning
from holter.types import Finding, Kind

CHECK_SECONDS = 20.0
"""Seconds between two checks."""
_LONGEST_GAP = 120.0
"""Seconds without a check after which nothing is known about what arrived meanwhile."""


class MissingDataMonitor:
    """One thread. Of several servers with one database, the first to notice opens the incident."""

    def __init__(
        self,
        engine: Engine,
        incidents: IncidentStore,
        settings: NoDataSettings,
        *,
        tuning: Callable[[int], Tuning] = lambda _: Tuning(),
        clock: Callable[[], float] = time.time,
        on_turn: WorkerTurn = ignore_turn,
    ) -> None:
        self._engine = engine
        self._incidents = incidents
        self._settings = settings
        self._tuning = tuning
        self._clock = clock
        self._observed = ObservedPeriod(clock, longest_gap=_LONGEST_GAP)
        # while the database is down, nothing can arrive either
        self._checks = PeriodicCheck(
            "runs without data",
            self.check,
            seconds=CHECK_SECONDS,
            on_turn=on_turn,
            on_failure=self._observed.restart,
        )

    def start(self) -> None:
        """Start the thread. Silence counts from now on: nothing could arrive while the server was down."""
        self._observed.restart()
        self._checks.start()

    def close(self) -> None:
        """Stop after the check in progress."""
        self._checks.close()

    def check(self) -> list[Incident]:
        """Open and end incidents according to what has arrived; returns those that changed."""
        now = self._clock()
        since = self._observed.since(now)
        with Session(self._engine) as session:
            runs = _expected_runs(session, now)
            lasting = _lasting_incidents(session)
        changed = []
        for incident in lasting:
            assert incident.run is not None
            end = end_of_missing_data(incident, runs.get(incident.run.number), now=now)
            if end is not None:
                changed += self._incidents.update_missing_data(incident.run.number, end)
        known = {incident.run.number for incident in lasting if incident.run is not None}
        for run in runs.values():
            candidate = detect_run_without_data(run, self._settings, now=now, watched_since=since)
            if candidate is not None and run.run_id not in known and self._matters(run, candidate.finding):
                changed += self._incidents.update_missing_data(run.run_id, candidate)
        return changed

    def _matters(self, run: ExpectedRun, finding: Finding) -> bool:
        """Whether neither the settings nor a planned event explain it, and no other run is its child."""
        tuning = self._tuning(run.run_id)
        if not tuning.matters(finding.kind) or any(event.covers(finding) for event in tuning.expected):
            return False
        with Session(self._engine) as session:
            return not _has_children(session, run.run_id)


def _expected_runs(session: Session, now: float) -> dict[int, ExpectedRun]:
    """The runs by id that are not finished and that something arrived of within `STALE_AFTER`."""
    query = (
        select(
            RunRecord.id,
            RunRecord.created_at,
            RunRecord.updated_at,
            RunRecord.revision,
            func.sum(Attempt.points),
            func.max(Attempt.last_step),
            func.max(Attempt.last_time),
        )
        .outerjoin(Attempt, Attempt.run_id == RunRecord.id)
        .outerjoin(RunDetailRow, RunDetailRow.run_id == RunRecord.id)
        .where(
            RunRecord.deleted_at.is_(None),
            RunRecord.finished_at.is_(None),
            RunRecord.updated_at > now - STALE_AFTER,
            RunDetailRow.stopped_at.is_(None),
        )
        .group_by(RunRecord.id)
    )
    runs = {}
    for run_id, created_at, updated_at, revision, points, last_step, last_time in session.execute(query):
        status = RunStatus(
            created_at=created_at, updated_at=updated_at, last_time=last_time, finished_at=None
        )
        runs[run_id] = ExpectedRun(
            run_id=run_id,
            created_at=created_at,
            updated_at=updated_at,
            batches=revision,
            points=int(points or 0),
            last_step=max(int(last_step or 0), 0),
            last_time=last_time,
            is_live=status.is_live(now),
        )
    stalled = session.scalars(
        select(IncidentRow.run_id).where(
            IncidentRow.kind == Kind.STALL, IncidentRow.state == IncidentState.OPEN
        )
    )
    for number in set(stalled) & runs.keys():
        assert number is not None
        runs[number] = replace(runs[number], excused=True)
    return runs


def _lasting_incidents(session: Session) -> list[Incident]:
    query = select(IncidentRow).where(
        IncidentRow.kind == Kind.NO_DATA, IncidentRow.run_id.is_not(None), IncidentRow.end_step.is_(None)
    )
    return read_incidents(session, session.scalars(query.order_by(IncidentRow.id)).all())


def _has_children(session: Session, run_id: int) -> bool:
    """Whether another run names this one as its parent, as mlflow's nested runs do."""
    parent, child = aliased(RunRecord), aliased(RunRecord)
    query = (
        select(child.id)
        .join(parent, parent.project_id == child.project_id)
        .join(RunDetailRow, RunDetailRow.run_id == child.id)
        .where(parent.id == run_id, RunDetailRow.parent_run == parent.name)
    )
    return session.scalar(query.limit(1)) is not None
