"""Writes the notifications of incidents' changes into the outbox, in the transaction of the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.incident import EventType, Incident
from holter.server.alerting.routing import Route, notification_reason
from holter.server.models.alerting import NotificationRow


def enqueue_notifications(
    session: Session,
    routes: Sequence[Route],
    incidents: Sequence[Incident],
    events: Mapping[int, frozenset[EventType]],
    *,
    live: bool,
    now: float,
) -> None:
    """Add an outbox row for each incident and route that has a reason; `events` by incident number."""
    if not routes or not incidents:
        return
    counts = _count_notifications(session, [incident.id for incident in incidents])
    for incident in incidents:
        for route in routes:
            count = counts[incident.id, route.channel]
            happened = events.get(incident.id, frozenset())
            if live and EventType.REOPENED in happened and _retract(session, incident, route.channel):
                happened -= {EventType.REOPENED}
            reason = notification_reason(
                happened,
                route,
                state=incident.state,
                severity=incident.finding.severity,
                live=live,
                notified=count > 0,
                acknowledged=incident.acknowledged_at is not None,
            )
            if reason is not None:
                session.add(_notification(incident, route, reason, count, now))


def _count_notifications(session: Session, incident_ids: Sequence[int]) -> Counter[tuple[int, str]]:
    """How many notifications of each incident were enqueued for each channel."""
    query = select(NotificationRow.incident_id, NotificationRow.channel)
    rows = session.execute(query.where(NotificationRow.incident_id.in_(incident_ids)))
    return Counter((incident_id, channel) for incident_id, channel in rows)


def _retract(session: Session, incident: Incident, channel: str) -> bool:
    """Drop a recovery that was not sent yet; whether there was one, so that reopening is no news either."""
    query = select(NotificationRow).where(
        NotificationRow.incident_id == incident.id,
        NotificationRow.channel == channel,
        NotificationRow.reason == EventType.RECOVERED.value,
        NotificationRow.state == "waiting",
        NotificationRow.attempts == 0,
    )
    rows = session.scalars(query.with_for_update(skip_locked=True)).all()
    for row in rows:
        row.state, row.detail = "folded", {"taken_back": True}
    return bool(rows)


def _notification(
    incident: Incident, route: Route, reason: EventType, count: int, now: float
) -> NotificationRow:
    # agents that are back have been reporting for some time already: their recovery is not delayed again
    delayed = reason is EventType.RECOVERED and incident.run is not None
    return NotificationRow(
        incident_id=incident.id,
        channel=route.channel,
        key=f"{incident.id}.{count}.{route.channel}",
        reason=reason.value,
        detail={},
        state="waiting",
        attempts=0,
        next_try_at=now + (route.recovery_delay if delayed else 0.0),
        created_at=now,
    )
