"""The outbox rows of incidents' changes: who is told of what, written with the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.lifecycle import EventType, IncidentState
from holter.server.alerting.routing import Route, notification_reason
from holter.server.models.alerting import IncidentRow, NotificationRow
from holter.types import Severity


def enqueue_notifications(
    session: Session,
    routes: Sequence[Route],
    rows: Sequence[IncidentRow],
    events: Mapping[int, frozenset[EventType]],
    *,
    live: bool,
    now: float,
) -> None:
    """Write the outbox rows of these incidents' changes."""
    if not routes or not rows:
        return
    earlier = _channels_told(session, [row.id for row in rows])
    for row in rows:
        for route in routes:
            number = earlier[row.id, route.channel]
            happened = events.get(row.id, frozenset())
            if live and EventType.REOPENED in happened and _take_back(session, row, route.channel):
                happened -= {EventType.REOPENED}
            why = notification_reason(
                happened,
                route,
                state=IncidentState(row.state),
                severity=Severity(row.severity),
                live=live,
                told=number > 0,
                acknowledged=row.acknowledged_at is not None,
            )
            if why is not None:
                session.add(_notification(row, route, why, number, now))


def _channels_told(session: Session, incident_ids: Sequence[int]) -> Counter[tuple[int, str]]:
    """How many notifications of each incident went to each channel."""
    query = select(NotificationRow.incident_id, NotificationRow.channel)
    told = session.execute(query.where(NotificationRow.incident_id.in_(incident_ids)))
    return Counter((incident_id, channel) for incident_id, channel in told if incident_id is not None)


def _take_back(session: Session, row: IncidentRow, channel: str) -> bool:
    """Whether a recovery was not told yet, so that nothing need be said of its end; it is not told then."""
    query = select(NotificationRow).where(
        NotificationRow.incident_id == row.id,
        NotificationRow.channel == channel,
        NotificationRow.reason == EventType.RECOVERED.value,
        NotificationRow.state == "waiting",
        NotificationRow.attempts == 0,
    )
    waiting = session.scalars(query.with_for_update(skip_locked=True)).all()
    for one in waiting:
        one.state, one.detail = "folded", {"taken_back": True}
    return bool(waiting)


def _notification(
    row: IncidentRow, route: Route, why: EventType, earlier: int, now: float
) -> NotificationRow:
    return NotificationRow(
        incident_id=row.id,
        channel=route.channel,
        key=f"{row.id}.{earlier}.{route.channel}",
        reason=why.value,
        detail={},
        state="waiting",
        attempts=0,
        next_try_at=now + (route.calm if why is EventType.RECOVERED else 0.0),
        created_at=now,
    )
