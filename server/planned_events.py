"""What is planned: events that people announced for a run or a project, beside those of holter.toml."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Engine, delete, exists, select
from sqlalchemy.orm import Session

from holter.server.alerting.lifecycle import IncidentState
from holter.server.analysis import STALE_AFTER
from holter.server.models.alerting import IncidentRow, PlannedEventRow
from holter.server.models.points import Project, RunRecord
from holter.settings import Settings
from holter.tuning import Expected, Tuning

_PROJECTS = 10_000  # whose tuning is remembered
_DEFAULTS = {field.name: field.default for field in fields(Expected) if field.default is not MISSING}


class UnknownPlannedEventError(LookupError):
    """There is no such project, or nothing of this number is expected there."""


class PlannedEvents:
    """Announces and withdraws what is planned, and says how detection is tuned for a run."""

    def __init__(self, engine: Engine, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._settings = settings
        self._clock = clock
        self._shown = lru_cache(_PROJECTS)(
            lambda project: settings.project(project).detection.tuning().roles_only()
        )

    def tuning(self, run_id: int) -> Tuning:
        """How the detectors look at a run: as set for its project, with what was announced."""
        with Session(self._engine) as session:
            name, rows = _place(session, run_id)[1], _rows(session, _of_run(session, run_id))
        set_up = self._settings.project(name).detection.tuning()
        return replace(set_up, expected=[*set_up.expected, *(Expected(**row.said) for row in rows)])

    def on_the_pages(self, project: str) -> Tuning:
        """The roles that were told for a project's series, which hold where they are shown, too."""
        return self._shown(project)

    def project_of(self, run_id: int) -> str:
        """The name of a run's project."""
        with Session(self._engine) as session:
            return _place(session, run_id)[1]

    def of_run(self, run_id: int) -> list[dict[str, Any]]:
        """Everything that is expected in a run, as JSON (docs/rest.md); its own first."""
        with Session(self._engine) as session:
            name, rows = _place(session, run_id)[1], _rows(session, _of_run(session, run_id))
        announced = sorted((_json(row) for row in rows), key=lambda one: one["scope"] == "project")
        return [*announced, *self._of_settings(name)]

    def of_project(self, name: str) -> list[dict[str, Any]]:
        """What is expected in all runs of a project. Raises UnknownExpectedError."""
        with Session(self._engine) as session:
            whole = (PlannedEventRow.project_id == _project(session, name)) & PlannedEventRow.run_id.is_(None)
            return [*(_json(row) for row in _rows(session, whole)), *self._of_settings(name)]

    def announce(self, run_id: int, expected: Expected, *, by: str | None = None) -> dict[str, Any]:
        """Something is planned for a run."""
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            return self._add(session, _place(session, run_id)[0], run_id, expected, by)

    def announce_for_project(self, name: str, expected: Expected, *, by: str | None = None) -> dict[str, Any]:
        """Something is planned for every run of a project. Raises UnknownExpectedError."""
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            return self._add(session, _project(session, name), None, expected, by)

    def withdraw(self, run_id: int, number: int) -> None:
        """It is not planned for the run after all. Raises UnknownExpectedError."""
        self._remove(PlannedEventRow.run_id == run_id, number)

    def withdraw_for_project(self, name: str, number: int) -> None:
        """It is not planned for the project after all. Raises UnknownExpectedError."""
        with Session(self._engine) as session:
            project = _project(session, name)
        self._remove((PlannedEventRow.project_id == project) & PlannedEventRow.run_id.is_(None), number)

    def touched(self, name: str) -> list[int]:
        """The runs of a project that are going on or have open incidents. Raises UnknownExpectedError."""
        recent = RunRecord.updated_at > self._clock() - STALE_AFTER
        waiting = exists().where(IncidentRow.run_id == RunRecord.id, IncidentRow.state == IncidentState.OPEN.value)
        with Session(self._engine) as session:
            mine = select(RunRecord.id).where(RunRecord.project_id == _project(session, name), recent | waiting)
            return list(session.scalars(mine.order_by(RunRecord.updated_at.desc())))

    def _add(
        self, session: Session, project: int, run_id: int | None, expected: Expected, by: str | None
    ) -> dict[str, Any]:
        said = _said(expected)
        place = (PlannedEventRow.project_id == project) & (PlannedEventRow.run_id.is_not_distinct_from(run_id))
        for row in _rows(session, place):
            if row.said == said:  # sent again
                return _json(row)
        row = PlannedEventRow(project_id=project, run_id=run_id, said=said, added_at=self._clock(), added_by=by)
        session.add(row)
        session.flush()
        return _json(row)

    def _remove(self, where: ColumnElement[bool], number: int) -> None:
        with Session(self._engine) as session, session.begin():
            gone = session.execute(
                delete(PlannedEventRow).where(where, PlannedEventRow.id == number).returning(PlannedEventRow.id)
            )
            if gone.first() is None:
                raise UnknownPlannedEventError(f"Nothing of the number {number} is expected there.")

    def _of_settings(self, project: str) -> list[dict[str, Any]]:
        told = self._settings.project(project).detection.expected
        return [
            {"id": None, "scope": "settings", **_shown(one), "added_at": None, "added_by": None}
            for one in told
        ]


def _place(session: Session, run_id: int) -> tuple[int, str]:
    """Number and name of a run's project."""
    query = select(Project.id, Project.name).join(RunRecord, RunRecord.project_id == Project.id).where(RunRecord.id == run_id)
    number, name = session.execute(query).one()
    return number, name


def _project(session: Session, name: str) -> int:
    found = None if "\0" in name else session.scalar(select(Project.id).where(Project.name == name))
    if found is None:
        raise UnknownPlannedEventError(f"There is no project {name}.")
    return found


def _of_run(session: Session, run_id: int) -> ColumnElement[bool]:
    project = _place(session, run_id)[0]
    own = PlannedEventRow.run_id == run_id
    return own | ((PlannedEventRow.project_id == project) & PlannedEventRow.run_id.is_(None))


def _rows(session: Session, where: ColumnElement[bool]) -> Sequence[PlannedEventRow]:
    return session.scalars(select(PlannedEventRow).where(where).order_by(PlannedEventRow.id)).all()


def _said(expected: Expected) -> dict[str, Any]:
    """What differs from the defaults, in plain values."""
    values = {name: getattr(expected, name) for name in _DEFAULTS}
    said = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
    return {name: [*map(str, value)] if name == "kind" else value for name, value in said.items()}


def _shown(expected: Expected) -> dict[str, Any]:
    said = {name: getattr(expected, name) for name in _DEFAULTS if name != "kind"}
    return {"kinds": sorted(kind.value for kind in expected.kinds), **said}


def _json(row: PlannedEventRow) -> dict[str, Any]:
    scope = "project" if row.run_id is None else "run"
    about = {"added_at": row.added_at, "added_by": row.added_by}
    return {"id": row.id, "scope": scope, **_shown(Expected(**row.said)), **about}
