"""The outbox rows of incidents' changes: who is told of what, written with the change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting.lifecycle import Event, State
from holter.server.alerting.routing import Route, reason
from holter.server.models.alerting import Incident, Notification
from holter.types import Severity


def tell(
    session: Session,
    routes: Sequence[Route],
    rows: Sequence[Incident],
    events: Mapping[int, frozenset[Event]],
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
            if live and Event.REOPENED in happened and _take_back(session, row, route.channel):
                happened -= {Event.REOPENED}
            why = reason(
                happened,
                route,
                state=State(row.state),
                severity=Severity(row.severity),
                live=live,
                told=number > 0,
                acknowledged=row.acknowledged_at is not None,
            )
            if why is not None:
                session.add(_notification(row, route, why, number, now))


def _channels_told(session: Session, incident_ids: Sequence[int]) -> Counter[tuple[int, str]]:
    """How many notifications of each incident went to each channel."""
    query = select(Notification.incident_id, Notification.channel)
    told = session.execute(query.where(Notification.incident_id.in_(incident_ids)))
    return Counter((incident_id, channel) for incident_id, channel in told if incident_id is not None)


def _take_back(session: Session, row: Incident, channel: str) -> bool:
    """Whether a recovery was not told yet, so that nothing need be said of its end; it is not told then."""
    query = select(Notification).where(
        Notification.incident_id == row.id,
        Notification.channel == channel,
        Notification.reason == Event.RECOVERED.value,
        Notification.state == "waiting",
        Notification.attempts == 0,
    )
    waiting = session.scalars(query.with_for_update(skip_locked=True)).all()
    for one in waiting:
        one.state, one.detail = "folded", {"taken_back": True}
    return bool(waiting)


def _notification(row: Incident, route: Route, why: Event, earlier: int, now: float) -> Notification:
    return Notification(
        incident_id=row.id,
        channel=route.channel,
        key=f"{row.id}.{earlier}.{route.channel}",
        reason=why.value,
        detail={},
        state="waiting",
        attempts=0,
        next_try_at=now + (route.calm if why is Event.RECOVERED else 0.0),
        created_at=now,
    )
