"""Rows of the outbox: their states, and how one about a change of an incident is made."""

from __future__ import annotations

from sqlalchemy.orm import Session

from holter.server.alerting.incident import EventType
from holter.server.alerting.routing.targets import ChannelTarget
from holter.server.models.alerting import NotificationRow

WAITING, DELIVERED, GIVEN_UP, FOLDED = "waiting", "delivered", "given_up", "folded"
SUPPRESSED = "suppressed"
ARRIVED = (DELIVERED, FOLDED)
"""States of rows that their channel has received, alone or within another message."""


def add_notification(
    session: Session,
    incident_id: int,
    target: ChannelTarget,
    reason: EventType,
    *,
    number: int,
    group_key: str | None,
    now: float,
    delay: float = 0.0,
    arrived_at: float | None = None,
) -> NotificationRow:
    """Add a row that waits for `delay` seconds at least.

    `number`: how many rows the incident and the channel have. It is part of the key, so that of several
    servers only one adds the next. `arrived_at`: when the points arrived that caused it.
    """
    row = NotificationRow(
        incident_id=incident_id,
        channel=target.channel,
        receiver=target.receiver,
        group_key=group_key,
        key=f"{incident_id}.{number}.{target.channel}",
        reason=reason.value,
        detail={"route": target.route.path} | ({} if arrived_at is None else {"arrived_at": arrived_at}),
        state=WAITING,
        attempts=0,
        next_try_at=now + delay,
        created_at=now,
    )
    session.add(row)
    return row
