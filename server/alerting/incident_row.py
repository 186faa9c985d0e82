"""Between an incident's columns and the values that decisions are made of.

Incidents as the rest of the world sees them: as findings, and as the JSON of the REST interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from holter.json_values import plain
from holter.server.alerting.lifecycle import EventType, IncidentCandidate, Known, IncidentState
from holter.server.models.alerting import IncidentRow, IncidentEventRow
from holter.types import Finding, Kind, Severity, labels_of


def finding_of(incident: IncidentRow) -> Finding:
    """The finding whose newest state stands in an incident's columns."""
    return Finding(
        kind=Kind(incident.kind),
        metric=incident.metric,
        labels=labels_of(incident.labels),
        attempt=incident.attempt,
        start_step=incident.start_step,
        peak_step=incident.peak_step,
        end_step=incident.end_step,
        detected_step=incident.detected_step,
        classified_step=incident.classified_step,
        severity=Severity(incident.severity),
        confidence=incident.confidence,
        summary=incident.summary,
        advice=incident.advice,
        evidence=incident.evidence,
    )


def incident_json(
    incident: IncidentRow, events: Sequence[IncidentEventRow], *, run_id: str, run: str, project: str
) -> dict[str, Any]:
    """An incident with its history, newest last (docs/rest.md). `run_id` is the run's public id."""
    return {
        **finding_of(incident).as_json(),
        "id": incident.id,
        "run_id": run_id,
        "run": run,
        "project": project,
        "state": incident.state,
        "start_time": incident.start_time,
        "opened_at": incident.opened_at,
        "updated_at": incident.updated_at,
        "recovered_at": incident.recovered_at,
        "closed_at": incident.closed_at,
        "acknowledged_at": incident.acknowledged_at,
        "acknowledged_by": incident.acknowledged_by,
        "events": [
            {"at": event.at, "type": event.type, "by": event.by, "text": event.text, "detail": event.detail}
            for event in events
        ],
    }


def known_of(row: IncidentRow, word: EventType | None) -> Known:
    """What the decision asks of a stored incident."""
    return Known(
        id=row.id,
        fingerprint=row.fingerprint,
        finding=finding_of(row),
        state=IncidentState(row.state),
        start_time=row.start_time,
        word=word,
    )


def plain_found(found: IncidentCandidate) -> IncidentCandidate:
    """The same finding in plain numbers, as it will be when it is read back."""
    old = found.finding
    steps = {
        name: None if getattr(old, name) is None else int(getattr(old, name))
        for name in ("attempt", "start_step", "peak_step", "end_step", "detected_step", "classified_step")
    }
    finding = Finding(
        kind=old.kind,
        metric=old.metric,
        labels=old.labels,
        severity=old.severity,
        confidence=float(old.confidence),
        summary=old.summary,
        advice=old.advice,
        evidence=plain(old.evidence),
        **steps,  # type: ignore[arg-type]  # None only where it was None
    )
    # of one length, however long the names of metrics and labels are
    fingerprint = blake2b(found.fingerprint.encode(), digest_size=16).hexdigest()
    return IncidentCandidate(
        finding=finding,
        fingerprint=fingerprint,
        start_time=_plain_time(found.start_time),
        replaced_by=found.replaced_by,
    )


def _plain_time(value: float | None) -> float | None:
    """A wall time as the database keeps it: None where the log has no clock."""
    return None if value is None or value != value else float(value)


def write_finding(row: IncidentRow, found: IncidentCandidate) -> None:
    """Make an incident's columns say what was found."""
    finding = found.finding
    row.fingerprint = found.fingerprint
    row.start_time = found.start_time
    row.kind = finding.kind.value
    row.metric = finding.metric
    row.labels = dict(finding.labels)
    row.attempt = finding.attempt
    row.start_step = finding.start_step
    row.peak_step = finding.peak_step
    row.end_step = finding.end_step
    row.detected_step = finding.detected_step
    row.classified_step = finding.classified_step
    row.severity = finding.severity.value
    row.confidence = finding.confidence
    row.summary = finding.summary
    row.advice = finding.advice
    row.evidence = dict(finding.evidence)


def write_state(row: IncidentRow, state: IncidentState, now: float) -> None:
    """Move an incident to `state`, with the times that belong to it."""
    row.state = state.value
    if state is IncidentState.OPEN:
        row.recovered_at = row.closed_at = None
    elif state is IncidentState.RECOVERED:
        row.recovered_at = row.recovered_at or now
        row.closed_at = None
    else:
        row.closed_at = row.closed_at or now
