"""Planned events: those declared for a run or a project over REST, and those of holter.toml."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Engine, bindparam, delete, exists, or_, select
from sqlalchemy.orm import Session

from holter.server.alerting.incident import IncidentState
from holter.server.analysis import STALE_AFTER
from holter.server.database import reading
from holter.server.models.alerting import IncidentRow, PlannedEventRow
from holter.server.models.points import Project, RunRecord
from holter.server.schemas.incidents import PlannedEventEntry, PlannedEventScope, PlannedEventView
from holter.settings import Settings
from holter.tuning import PlannedEvent, Tuning

_CACHED_PROJECTS = 10_000
# built once, since every analysis pass runs them
_PROJECT_OF = (
    select(Project.id, Project.name)
    .join(RunRecord, RunRecord.project_id == Project.id)
    .where(RunRecord.id == bindparam("run"))
)
_EVENTS = (
    select(PlannedEventRow.said)
    .where(
        or_(
            PlannedEventRow.run_id == bindparam("run"),
            (PlannedEventRow.project_id == bindparam("project")) & PlannedEventRow.run_id.is_(None),
        )
    )
    .order_by(PlannedEventRow.id)
)
_DEFAULTS = {field.name: field.default for field in fields(PlannedEvent) if field.default is not MISSING}


class UnknownPlannedEventError(LookupError):
    """There is no such project, or it or the run has no planned event of this number."""


class PlannedEvents:
    """Adds, removes and lists planned events, and returns the tuning of detection that results."""

    def __init__(self, engine: Engine, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._tunings = lru_cache(_CACHED_PROJECTS)(
            lambda project: settings.project(project).detection.tuning()
        )
        self._display_tunings = lru_cache(_CACHED_PROJECTS)(
            lambda project: self._tunings(project).roles_only()
        )

    def tuning(self, run_id: int) -> Tuning:
        """The tuning for the detectors of a run: that of its project, with all planned events of the run."""
        with reading(self._engine) as connection:
            project, name = connection.execute(_PROJECT_OF, {"run": run_id}).one()
            stored = connection.scalars(_EVENTS, {"run": run_id, "project": project}).all()
        tuning = self._tunings(name)
        if not stored:
            return tuning
        return replace(tuning, expected=[*tuning.expected, *(PlannedEvent(**event) for event in stored)])

    def display_tuning(self, project: str) -> Tuning:
        """The roles that the settings give the series of a project, which the pages show, too."""
        return self._display_tunings(project)

    def project_of(self, run_id: int) -> str:
        """The name of a run's project."""
        with Session(self._engine) as session:
            return _project_of(session, run_id)[1]

    def list_all(self) -> list[PlannedEventEntry]:
        """The planned events of all projects and runs, the newest first; those of the settings last."""
        query = (
            select(PlannedEventRow, Project.name, RunRecord.public_id, RunRecord.name)
            .join(Project, Project.id == PlannedEventRow.project_id)
            .outerjoin(RunRecord, RunRecord.id == PlannedEventRow.run_id)
            .order_by(PlannedEventRow.id.desc())
        )
        with Session(self._engine) as session:
            stored: list[PlannedEventEntry] = [
                {**_stored_view(row), "project": project, "run_id": run_id, "run": run}
                for row, project, run_id, run in session.execute(query)
            ]
        of_settings: list[PlannedEventEntry] = [
            {**event, "project": pattern, "run_id": None, "run": None}
            for pattern in self._settings.projects
            for event in self._list_settings(pattern)
        ]
        return [*stored, *of_settings]

    def list_for_run(self, run_id: int) -> list[PlannedEventView]:
        """All planned events of a run, those of the run itself first."""
        name, rows = self._events_of(run_id)
        declared = sorted(map(_stored_view, rows), key=lambda event: event["scope"] == "project")
        return [*declared, *self._list_settings(name)]

    def list_for_project(self, name: str) -> list[PlannedEventView]:
        """The planned events of all runs of a project. Raises UnknownPlannedEventError."""
        with Session(self._engine) as session:
            of_project = PlannedEventRow.project_id == _project_id(session, name)
            rows = _rows(session, of_project & PlannedEventRow.run_id.is_(None))
            return [*map(_stored_view, rows), *self._list_settings(name)]

    def add_to_run(self, run_id: int, event: PlannedEvent, *, by: str | None = None) -> PlannedEventView:
        """Store a planned event of a run. The same event again changes nothing."""
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            return self._add(session, _project_of(session, run_id)[0], run_id, event, by)

    def add_to_project(self, name: str, event: PlannedEvent, *, by: str | None = None) -> PlannedEventView:
        """Store a planned event of all runs of a project. Raises UnknownPlannedEventError."""
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            return self._add(session, _project_id(session, name), None, event, by)

    def remove_from_run(self, run_id: int, number: int) -> None:
        """Delete a planned event of a run. Raises UnknownPlannedEventError."""
        self._remove(PlannedEventRow.run_id == run_id, number)

    def remove_from_project(self, name: str, number: int) -> None:
        """Delete a planned event of a project. Raises UnknownPlannedEventError."""
        with Session(self._engine) as session:
            of_project = PlannedEventRow.project_id == _project_id(session, name)
        self._remove(of_project & PlannedEventRow.run_id.is_(None), number)

    def affected_runs(self, name: str) -> list[int]:
        """The active runs of a project and those with open incidents. Raises UnknownPlannedEventError."""
        recent = RunRecord.updated_at > self._clock() - STALE_AFTER
        has_open = exists().where(
            IncidentRow.run_id == RunRecord.id, IncidentRow.state == IncidentState.OPEN.value
        )
        with Session(self._engine) as session:
            of_project = RunRecord.project_id == _project_id(session, name)
            query = select(RunRecord.id).where(of_project, recent | has_open)
            return list(session.scalars(query.order_by(RunRecord.updated_at.desc())))

    def _events_of(self, run_id: int) -> tuple[str, Sequence[PlannedEventRow]]:
        """The name of a run's project, and the stored events of the run and of all runs of the project."""
        with Session(self._engine) as session:
            project_id, name = _project_of(session, run_id)
            of_project = (PlannedEventRow.project_id == project_id) & PlannedEventRow.run_id.is_(None)
            return name, _rows(session, (PlannedEventRow.run_id == run_id) | of_project)

    def _add(
        self, session: Session, project_id: int, run_id: int | None, event: PlannedEvent, by: str | None
    ) -> PlannedEventView:
        stated = _without_defaults(event)
        same_scope = (PlannedEventRow.project_id == project_id) & (
            PlannedEventRow.run_id.is_not_distinct_from(run_id)
        )
        for row in _rows(session, same_scope):
            if row.said == stated:
                return _stored_view(row)
        row = PlannedEventRow(
            project_id=project_id, run_id=run_id, said=stated, added_at=self._clock(), added_by=by
        )
        session.add(row)
        session.flush()
        return _stored_view(row)

    def _remove(self, scope: ColumnElement[bool], number: int) -> None:
        query = delete(PlannedEventRow).where(scope, PlannedEventRow.id == number)
        with Session(self._engine) as session, session.begin():
            if session.execute(query.returning(PlannedEventRow.id)).first() is None:
                raise UnknownPlannedEventError(f"There is no planned event {number}.")

    def _list_settings(self, project: str) -> list[PlannedEventView]:
        events = self._settings.project(project).detection.expected
        return [_view(event, number=None, scope="settings", added_at=None, added_by=None) for event in events]


def _project_of(session: Session, run_id: int) -> tuple[int, str]:
    """Id and name of a run's project."""
    project_id, name = session.execute(_PROJECT_OF, {"run": run_id}).one()
    return project_id, name


def _project_id(session: Session, name: str) -> int:
    query = select(Project.id).where(Project.name == name)
    project_id = None if "\0" in name else session.scalar(query)  # PostgreSQL's text has no NUL
    if project_id is None:
        raise UnknownPlannedEventError(f"There is no project {name}.")
    return project_id


def _rows(session: Session, condition: ColumnElement[bool]) -> Sequence[PlannedEventRow]:
    return session.scalars(select(PlannedEventRow).where(condition).order_by(PlannedEventRow.id)).all()


def _without_defaults(event: PlannedEvent) -> dict[str, Any]:
    """The fields that differ from their defaults, as JSON values: what the database stores."""
    values = {name: getattr(event, name) for name in _DEFAULTS}
    stated = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    return {name: [*map(str, value)] if name == "kind" else value for name, value in stated.items()}


def _stored_view(row: PlannedEventRow) -> PlannedEventView:
    return _view(
        PlannedEvent(**row.said),
        number=row.id,
        scope="project" if row.run_id is None else "run",
        added_at=row.added_at,
        added_by=row.added_by,
    )


def _view(
    event: PlannedEvent,
    *,
    number: int | None,
    scope: PlannedEventScope,
    added_at: float | None,
    added_by: str | None,
) -> PlannedEventView:
    return {
        "id": number,
        "scope": scope,
        "kinds": sorted(kind.value for kind in event.kinds),
        "what": event.what,
        "metric": event.metric,
        "from_step": event.from_step,
        "to_step": event.to_step,
        "every": event.every,
        "lasting": event.lasting,
        "note": event.note,
        "added_at": added_at,
        "added_by": added_by,
    }
