"""Writes the notifications of incidents' changes into the outbox, in the transaction of the change.

With each change the decision is stored: which channels are notified by which route, and why others are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from holter.server.alerting.incident import EventType, Incident, IncidentState
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.notification_rows import FOLDED, WAITING, add_notification
from holter.server.alerting.reasons import BEGINNINGS, UPDATES, notification_reason
from holter.server.alerting.routing import LabelSet, NotificationPolicy, Route
from holter.server.alerting.routing.targets import ChannelTarget, channel_targets, describe_unrouted
from holter.server.models.alerting import IncidentRow, NotificationDecisionRow, NotificationRow
from holter.types import Severity

NOTIFIED, NOT_NOTIFIED, MUTED = "notified", "not_notified", "muted"
"""Outcomes of decisions."""


def enqueue_notifications(
    session: Session,
    policy: NotificationPolicy,
    incidents: Sequence[Incident],
    events: Mapping[int, frozenset[EventType]],
    *,
    live: bool,
    now: float,
    arrived_at: float | None = None,
) -> None:
    """Add an outbox row for each incident and channel that has a reason; `events` by incident number.

    `arrived_at`: when the newest points arrived that the changes follow from.
    """
    if not policy.channels or not incidents:
        return
    labels = read_labels(session, [session.get_one(IncidentRow, incident.id) for incident in incidents])
    earlier = _earlier_notifications(session, list(labels))
    for incident in incidents:
        change = _Change(
            incident, labels[incident.id], events.get(incident.id, frozenset()), live, now, arrived_at
        )
        _enqueue_change(session, policy, change, earlier)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of an incident: what happened, and whether the run is live."""

    incident: Incident
    labels: LabelSet
    events: frozenset[EventType]
    live: bool
    now: float
    arrived_at: float | None


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The notifications of one incident that a channel has: their number, the last receiver and group."""

    count: int = 0
    receiver: str = ""
    group_key: str | None = None


_NONE_EARLIER = _Earlier()


def _enqueue_change(
    session: Session, policy: NotificationPolicy, change: _Change, earlier: Mapping[tuple[int, str], _Earlier]
) -> None:
    incident = change.incident
    targets = channel_targets(policy, change.labels)
    before = {channel: each for (number, channel), each in earlier.items() if number == incident.id}
    for name in (*targets, *sorted(before.keys() - targets.keys())):
        if name in policy.channels:
            known = before.get(name, _NONE_EARLIER)
            target = targets.get(name) or ChannelTarget(
                name, policy.root, "no route leads there any more", via=known.receiver
            )
            _enqueue_for_channel(session, policy, change, target, known)
    if not targets and not before and change.events & BEGINNINGS:
        text = describe_unrouted(policy, change.labels)
        record_decision(session, incident.id, change.now, outcome=NOT_NOTIFIED, text=text)


def _enqueue_for_channel(
    session: Session, policy: NotificationPolicy, change: _Change, target: ChannelTarget, earlier: _Earlier
) -> None:
    """Add a row for one channel if there is a reason, and record the decision."""
    incident, events, settings = change.incident, change.events, policy.channels[target.channel]
    if change.live and EventType.REOPENED in events and _retract(session, incident, target.channel):
        events -= {EventType.REOPENED}
    reason = notification_reason(
        events,
        routed=not target.refusal,
        history=settings.history,
        state=incident.state,
        live=change.live,
        notified=earlier.count > 0,
        acknowledged=incident.acknowledged_at is not None,
        is_information=incident.finding.severity is Severity.INFO,
        updates=settings.updates,
    )
    if reason is None:
        if events & BEGINNINGS:
            text = target.refusal or _why_not(change, notified=earlier.count > 0)
            record_decision(session, incident.id, change.now, target, outcome=NOT_NOTIFIED, text=text)
        return
    if reason not in UPDATES:
        text = "it got the opening of this incident" if target.refusal else f"{target.route.path} leads to it"
        record_decision(
            session, incident.id, change.now, target, outcome=NOTIFIED, reason=reason.value, text=text
        )
    # agents that are back have been reporting for some time already: their recovery is not delayed again
    delayed = reason is EventType.RECOVERED and incident.run is not None
    add_notification(
        session,
        incident.id,
        target,
        reason,
        number=earlier.count,
        group_key=_group_key(session, target, change, earlier),
        now=change.now,
        delay=settings.recovery_delay if delayed else 0.0,
        arrived_at=change.arrived_at if events & BEGINNINGS else None,
    )


def _why_not(change: _Change, *, notified: bool) -> str:
    if notified and EventType.RECLASSIFIED in change.events:
        why = "it is information" if change.incident.acknowledged_at is None else "it is acknowledged"
        return f"another kind is no news: {why}"
    if not change.live:
        return "its run was not live: the points were old when they arrived"
    if change.incident.state is IncidentState.CLOSED:
        return "it was closed already"
    return "it had ended before anybody was notified"


def _earlier_notifications(session: Session, incident_ids: Sequence[int]) -> dict[tuple[int, str], _Earlier]:
    """What was enqueued for each channel of these incidents."""
    query = select(
        NotificationRow.incident_id,
        NotificationRow.channel,
        NotificationRow.receiver,
        NotificationRow.group_key,
    ).where(NotificationRow.incident_id.in_(incident_ids))
    earlier: dict[tuple[int, str], _Earlier] = {}
    for number, channel, receiver, group_key in session.execute(query.order_by(NotificationRow.id)):
        if number is None:
            continue
        before = earlier.get((number, channel), _NONE_EARLIER)
        earlier[number, channel] = _Earlier(before.count + 1, receiver or "", group_key)
    return earlier


def _retract(session: Session, incident: Incident, channel: str) -> bool:
    """Drop a recovery that was not sent yet; whether there was one, so that reopening is no news either."""
    query = select(NotificationRow).where(
        NotificationRow.incident_id == incident.id,
        NotificationRow.channel == channel,
        NotificationRow.reason == EventType.RECOVERED.value,
        NotificationRow.state == WAITING,
        NotificationRow.attempts == 0,
    )
    rows = session.scalars(query.with_for_update(skip_locked=True)).all()
    for row in rows:
        row.state, row.detail = FOLDED, {**row.detail, "taken_back": True}
    return bool(rows)


def _group_key(session: Session, target: ChannelTarget, change: _Change, earlier: _Earlier) -> str | None:
    """The group of a notification: that of open incidents with the same labels, or a new one.

    A group ends with its last incident, so that what comes later begins a new thread of messages. What is
    reported about an incident stays in its group, whatever its kind and severity have become and whichever
    route leads to the channel now: else receivers that know a group by its key would never learn of its
    end. None: the incident is its own group.
    """
    route: Route = target.route
    incident_id = change.incident.id
    text = f"{target.channel}\0{route.group_key(change.labels)}"
    digest = blake2b(text.encode(), digest_size=12).hexdigest()
    if earlier.count and not (earlier.group_key or "").startswith(f"{digest}."):
        return earlier.group_key
    if route.groups_by_incident:
        return None
    continues = or_(
        IncidentRow.state == IncidentState.OPEN,
        NotificationRow.state == WAITING,
        NotificationRow.incident_id == incident_id,
    )
    query = (
        select(NotificationRow.group_key)
        .join(IncidentRow, IncidentRow.id == NotificationRow.incident_id)
        .where(NotificationRow.group_key.startswith(f"{digest}."), continues)
        .order_by(NotificationRow.id.desc())
    )
    return session.scalar(query.limit(1)) or f"{digest}.{incident_id}"


def record_decision(
    session: Session,
    incident_id: int,
    now: float,
    target: ChannelTarget | None = None,
    *,
    outcome: str,
    text: str,
    reason: str = "",
) -> None:
    """Store why a channel was, or was not, notified."""
    session.add(
        NotificationDecisionRow(
            incident_id=incident_id,
            at=now,
            channel="" if target is None else target.channel,
            receiver="" if target is None else target.receiver,
            outcome=outcome,
            reason=reason,
            text=text,
            detail={} if target is None else {"route": target.route.path},
        )
    )
