"""Converts incidents between database rows and values; the only place that knows an incident's columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import fields
from hashlib import blake2b
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.json_values import plain
from holter.server.alerting.incident import EventType, HistoryEntry, Incident, IncidentRun, IncidentState
from holter.server.alerting.lifecycle import IncidentCandidate
from holter.server.models.alerting import IncidentEventRow, IncidentRow
from holter.server.models.points import Project, RunRecord
from holter.types import Cause, Finding, Kind, Severity, labels_of

_FINDING_COLUMNS = tuple(column.name for column in fields(Finding))
"""A finding's fields, which are columns of the incident table under the same names."""
_LIFE_COLUMNS = (
    "id",
    "fingerprint",
    "start_time",
    "opened_at",
    "updated_at",
    "recovered_at",
    "closed_at",
    "acknowledged_at",
    "acknowledged_by",
)


class UnknownIncidentError(LookupError):
    """There is no incident with this number."""


def read_incident(session: Session, incident_id: int) -> Incident:
    """One incident by its number. Raises UnknownIncidentError."""
    row = session.get(IncidentRow, incident_id)
    if row is None:
        raise UnknownIncidentError(f"There is no incident {incident_id}.")
    return read_incidents(session, [row])[0]


def read_incidents(session: Session, rows: Sequence[IncidentRow]) -> list[Incident]:
    """The incidents of these rows, in their order, with two queries however many they are."""
    if not rows:
        return []
    histories = _read_histories(session, [row.id for row in rows])
    runs = _read_runs(session, {row.run_id for row in rows if row.run_id is not None})
    return [
        Incident(
            run=None if row.run_id is None else runs[row.run_id],
            finding=_read_finding(row),
            state=IncidentState(row.state),
            history=tuple(histories[row.id]),
            **{name: getattr(row, name) for name in _LIFE_COLUMNS},
        )
        for row in rows
    ]


def read_incidents_of_run(session: Session, run_id: int) -> list[Incident]:
    """All incidents of a run, in the order in which they were opened."""
    query = select(IncidentRow).where(IncidentRow.run_id == run_id).order_by(IncidentRow.id)
    return read_incidents(session, session.scalars(query).all())


def _read_finding(row: IncidentRow) -> Finding:
    values = {name: getattr(row, name) for name in _FINDING_COLUMNS}
    typed = {
        "kind": Kind(row.kind),
        "severity": Severity(row.severity),
        "labels": labels_of(row.labels),
        "causes": tuple(Cause.from_json(stored) for stored in row.causes or ()),
    }
    return Finding(**values | typed)


def _read_histories(session: Session, incident_ids: Sequence[int]) -> dict[int, list[HistoryEntry]]:
    columns = (IncidentEventRow.incident_id, IncidentEventRow.type, IncidentEventRow.text)
    query = select(*columns, IncidentEventRow.detail, IncidentEventRow.at, IncidentEventRow.by)
    query = query.where(IncidentEventRow.incident_id.in_(incident_ids)).order_by(IncidentEventRow.id)
    histories = defaultdict(list)
    for incident_id, event, text, detail, at, by in session.execute(query):
        entry = HistoryEntry(type=EventType(event), text=text, detail=detail, at=at, by=by)
        histories[incident_id].append(entry)
    return histories


def _read_runs(session: Session, run_ids: Collection[int]) -> dict[int, IncidentRun]:
    if not run_ids:
        return {}
    query = select(RunRecord.id, RunRecord.public_id, RunRecord.name, Project.name)
    query = query.join(Project, Project.id == RunRecord.project_id).where(RunRecord.id.in_(run_ids))
    return {
        number: IncidentRun(number=number, public_id=public_id, name=name, project=project)
        for number, public_id, name, project in session.execute(query)
    }


def normalize_candidate(candidate: IncidentCandidate) -> IncidentCandidate:
    """The candidate with plain Python numbers, equal to what is read back from the database later.

    The fingerprint becomes a hash, which has one length however long names of metrics and labels are.
    """
    finding = candidate.finding
    values = {name: plain(getattr(finding, name)) for name in _FINDING_COLUMNS}
    values |= {"kind": finding.kind, "severity": finding.severity, "labels": finding.labels}
    values["causes"] = tuple(Cause.from_json(plain(cause.as_json())) for cause in finding.causes)
    time = candidate.start_time
    return IncidentCandidate(
        finding=Finding(**values),
        fingerprint=blake2b(candidate.fingerprint.encode(), digest_size=16).hexdigest(),
        start_time=None if time is None or time != time else float(time),
        replaced_by=candidate.replaced_by,
        abandoned=candidate.abandoned,
    )


def write_candidate(row: IncidentRow, candidate: IncidentCandidate) -> None:
    """Set an incident's columns to its newest finding."""
    finding = candidate.finding
    row.fingerprint = candidate.fingerprint
    row.start_time = candidate.start_time
    for name in _FINDING_COLUMNS:
        setattr(row, name, _column_value(getattr(finding, name)))
    row.labels = dict(finding.labels)
    row.causes = [cause.as_json() for cause in finding.causes]


def _column_value(value: Any) -> Any:
    if isinstance(value, Kind | Severity):
        return value.value
    return dict(value) if isinstance(value, dict) else value


def write_state(row: IncidentRow, state: IncidentState, now: float) -> None:
    """Set an incident's state and the times that belong to it."""
    row.state = state.value
    if state is IncidentState.OPEN:
        row.recovered_at = row.closed_at = None
    elif state is IncidentState.RECOVERED:
        row.recovered_at = row.recovered_at or now
        row.closed_at = None
    else:
        row.closed_at = row.closed_at or now
