"""Reading incidents as JSON, with their histories and the names of where they happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.incident_row import incident_json
from holter.server.models.alerting import IncidentRow, IncidentEventRow
from holter.server.models.points import Project, RunRecord


class UnknownIncidentError(LookupError):
    """There is no incident of this number."""


def incident_row(session: Session, incident_id: int) -> IncidentRow:
    """One incident as it is stored. Raises UnknownIncidentError."""
    row = session.get(IncidentRow, incident_id)
    if row is None:
        raise UnknownIncidentError(f"There is no incident {incident_id}.")
    return row


def read_incident(session: Session, incident_id: int) -> dict[str, Any]:
    """One incident as JSON. Raises UnknownIncidentError."""
    return read_incidents(session, [incident_row(session, incident_id)])[0]


def read_incidents(session: Session, rows: Sequence[IncidentRow]) -> list[dict[str, Any]]:
    """These incidents as JSON, in their order, with two queries however many they are."""
    if not rows:
        return []
    histories: dict[int, list[IncidentEventRow]] = {row.id: [] for row in rows}
    query = (
        select(IncidentEventRow)
        .where(IncidentEventRow.incident_id.in_(histories))
        .order_by(IncidentEventRow.id)
    )
    for event in session.scalars(query):
        histories[event.incident_id].append(event)
    places = _places(session, {row.run_id for row in rows})
    return [incident_json(row, histories[row.id], **places[row.run_id]) for row in rows]


def _places(session: Session, run_ids: set[int]) -> dict[int, dict[str, str]]:
    query = (
        select(RunRecord.id, RunRecord.public_id, RunRecord.name, Project.name)
        .join(Project, Project.id == RunRecord.project_id)
        .where(RunRecord.id.in_(run_ids))
    )
    return {
        run_id: {"run_id": public_id, "run": run, "project": project}
        for run_id, public_id, run, project in session.execute(query)
    }
