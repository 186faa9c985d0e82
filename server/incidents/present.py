"""Incidents as the rest of the world sees them: as findings, and as the JSON of the REST interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holter.server.models.incidents import Incident, IncidentEvent
from holter.types import Finding, Kind, Severity, labels_of


def finding_of(incident: Incident) -> Finding:
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
    incident: Incident, events: Sequence[IncidentEvent], *, run_id: str, run: str, project: str
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
