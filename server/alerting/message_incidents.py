"""An incident as programs receive it in a message: its labels, times and texts."""

from __future__ import annotations

from holter.detectors.findings import title_of, title_with_causes
from holter.server.alerting.incident import Incident
from holter.server.alerting.incident_groups import IncidentGroup
from holter.server.alerting.incident_labels import make_labels
from holter.server.channels.message import MessageIncident
from holter.types import CLOCK_STEPS


def message_incident(
    incident: Incident, address: str, *, now: float, event: IncidentGroup | None = None
) -> MessageIncident:
    """The incident for programs at a time; `address` is the server's, `event` has the linked incidents."""
    finding, run = incident.finding, incident.run
    event = IncidentGroup([incident]) if event is None else event
    series = {name: value for name, value in finding.labels if (name, value) != ("steps", CLOCK_STEPS)}
    labels = make_labels(
        project="" if run is None else run.project,
        run="" if run is None else run.name,
        kind=finding.kind.value,
        severity=finding.severity.value,
        confidence=float(finding.confidence),
        metric=finding.metric,
        attempt=finding.attempt,
        incident=incident.id,
        series_labels=series,
    )
    return MessageIncident(
        id=incident.id,
        state=incident.state.value,
        title=title_with_causes(title_of(finding.kind, finding.metric), finding.causes),
        summary=finding.summary,
        advice=event.advice if event.is_open else finding.advice,
        link=f"{address}/incidents/{incident.id}",
        started_at=incident.start_time or incident.opened_at,
        ended_at=None if incident.is_open else incident.closed_at or incident.recovered_at,
        labels={name: ", ".join(values) for name, values in labels.items()},
        run_id=None if run is None else run.public_id,
        step=None if run is None else finding.start_step,
        rollback_step=event.rollback_step if incident.is_open else None,
        acknowledged_by=incident.acknowledged_by,
        muted=incident.mute(now) is not None,
    )
