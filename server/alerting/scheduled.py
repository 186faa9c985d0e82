"""Notifications that time alone causes: reminders, escalations, digests, and notices about failing channels.

Each function adds rows to the outbox and returns how many. Keys are made of what a row is about, so that of
several servers with one database only the first adds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from holter.plurals import counted, verb
from holter.server.alerting.enqueue import NOTIFIED, record_decision
from holter.server.alerting.incident import EventType, IncidentState
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.incident_rows import read_incidents
from holter.server.alerting.messages_of_many import notice_item
from holter.server.alerting.notification_rows import ARRIVED, WAITING, add_notification
from holter.server.alerting.reasons import NoticeType
from holter.server.alerting.routing import NotificationPolicy
from holter.server.alerting.routing.matchers import LabelSet
from holter.server.alerting.routing.policy import Digest
from holter.server.alerting.routing.targets import ChannelTarget, channel_targets
from holter.server.models.alerting import IncidentRow, NotificationRow
from holter.types import Severity

FAILING_SECONDS = 300.0
"""Seconds after which a channel whose messages fail is reported through the others."""
_FAILED_ATTEMPTS = 3
_MEMORY_SECONDS = 2 * 86_400.0
"""Seconds for which reports of failing channels are looked at again."""
_LATEST_DIGEST_SECONDS = 6 * 3600.0
"""A digest that is due for longer, since no server was running, is left out."""
_SHOWN_INCIDENTS = 50


def enqueue_scheduled(session: Session, policy: NotificationPolicy, *, now: float) -> int:
    """Add everything that is due now."""
    added = sum(enqueue_digest(session, policy, digest, now=now) for digest in policy.digests)
    if policy.report_failing_channels:
        added += enqueue_channel_notices(session, policy, now=now)
    if any(route.repeat_interval or route.escalate_after for route in policy.root.walk()):
        for incident in _unacknowledged_incidents(session):
            added += enqueue_reminders(session, policy, incident, now=now)
            added += enqueue_escalations(session, policy, incident, now=now)
    return added


@dataclass(frozen=True, slots=True)
class _OpenIncident:
    """An open incident, its labels, and all its notifications by channel, the oldest first."""

    id: int
    labels: LabelSet
    notifications: dict[str, list[NotificationRow]]


def enqueue_reminders(
    session: Session, policy: NotificationPolicy, incident: _OpenIncident, *, now: float
) -> int:
    """Remind each channel of an incident, `repeat_interval` after the last message to it."""
    added = 0
    for channel, target in channel_targets(policy, incident.labels).items():
        rows = incident.notifications.get(channel, [])
        sent = [row.delivered_at or row.created_at for row in rows if row.state in ARRIVED]
        interval = target.route.repeat_interval
        is_queued = any(row.state == WAITING for row in rows)
        if interval and sent and not is_queued and not target.refusal and now >= max(sent) + interval:
            _add_row(session, incident, target, EventType.REMINDER, now)
            added += 1
    return added


def enqueue_escalations(
    session: Session, policy: NotificationPolicy, incident: _OpenIncident, *, now: float
) -> int:
    """Notify `escalate_to` of an incident, `escalate_after` after its first message was due; once."""
    added = 0
    for target in channel_targets(policy, incident.labels).values():
        route, rows = target.route, incident.notifications.get(target.channel, [])
        # muted messages do not count: nobody was to be notified yet
        begun = [row.created_at for row in rows if row.state in ARRIVED or "muted" not in row.detail]
        if not route.escalate_after or not begun or now < min(begun) + route.escalate_after:
            continue
        for channel in policy.channels_of(route.escalate_to):
            earlier = incident.notifications.get(channel, [])
            if all(row.reason != EventType.NOT_ACKNOWLEDGED for row in earlier):
                further = ChannelTarget(channel, route, via=route.escalate_to)
                _add_row(session, incident, further, EventType.NOT_ACKNOWLEDGED, now)
                added += 1
    return added


def _unacknowledged_incidents(session: Session) -> Iterator[_OpenIncident]:
    """The open incidents that nobody has acknowledged and that somebody was to be notified of."""
    query = (
        select(IncidentRow, NotificationRow)
        .join(NotificationRow, NotificationRow.incident_id == IncidentRow.id)
        .where(IncidentRow.state == IncidentState.OPEN, IncidentRow.acknowledged_at.is_(None))
        .order_by(NotificationRow.id)
    )
    incidents: dict[int, IncidentRow] = {}
    notifications: dict[int, dict[str, list[NotificationRow]]] = {}
    for incident, row in session.execute(query):
        incidents[incident.id] = incident
        notifications.setdefault(incident.id, {}).setdefault(row.channel, []).append(row)
    labels = read_labels(session, list(incidents.values()))
    return (_OpenIncident(number, labels[number], notifications[number]) for number in incidents)


def _add_row(
    session: Session, incident: _OpenIncident, target: ChannelTarget, reason: EventType, now: float
) -> None:
    rows = incident.notifications.setdefault(target.channel, [])
    row = add_notification(
        session,
        incident.id,
        target,
        reason,
        number=len(rows),
        group_key=rows[-1].group_key if rows else None,
        now=now,
    )
    rows.append(row)
    text = f"it is open and nobody has acknowledged it ({target.route.path})"
    record_decision(session, incident.id, now, target, outcome=NOTIFIED, reason=reason.value, text=text)


def enqueue_digest(session: Session, policy: NotificationPolicy, digest: Digest, *, now: float) -> int:
    """Send a digest that is due: incidents since the one before, and those that are still open."""
    due, since = due_times(digest, now)
    if now - due > _LATEST_DIGEST_SECONDS:
        return 0
    key = f"digest.{digest.name}.{due:.0f}"
    channels = [name for name in policy.channels_of(digest.receiver) if not _exists(session, f"{key}.{name}")]
    if not channels:
        return 0
    detail = _digest_detail(session, digest, since, due)
    for channel in channels:
        _add_notice(session, channel, digest.receiver, f"{key}.{channel}", NoticeType.DIGEST, detail, now)
    return len(channels)


def due_times(digest: Digest, now: float) -> tuple[float, float]:
    """When a digest was due last, and when before that, in the local time of its zone; Unix seconds."""
    local = datetime.fromtimestamp(now, digest.zone)
    due = local.replace(hour=digest.minute // 60, minute=digest.minute % 60, second=0, microsecond=0)
    if due > local:
        due -= timedelta(days=1)
    if digest.weekday is not None:
        due -= timedelta(days=(due.weekday() - digest.weekday) % 7)
    before = due - timedelta(days=1 if digest.weekday is None else 7)
    return due.timestamp(), before.timestamp()


def _digest_detail(session: Session, digest: Digest, since: float, due: float) -> dict[str, Any]:
    query = select(IncidentRow).where(
        (IncidentRow.state == IncidentState.OPEN)
        | ((IncidentRow.opened_at >= since) & (IncidentRow.opened_at < due))
    )
    rows = session.scalars(query.order_by(IncidentRow.id.desc())).all()
    labels = read_labels(session, rows)
    incidents = [
        incident
        for incident in read_incidents(session, rows)
        if all(matcher.matches(labels[incident.id]) for matcher in digest.matchers)
    ]
    new = sum(since <= incident.opened_at < due for incident in incidents)
    still_open = sum(incident.is_open for incident in incidents)
    period = "day" if digest.weekday is None else "week"
    shown = sorted(incidents, key=lambda each: (not each.is_open, -each.finding.severity.rank, -each.id))
    rest = len(shown) - _SHOWN_INCIDENTS
    return {
        "headline": f"{digest.name}: {counted(new, 'new incident')}, {still_open} open",
        "sentence": f"{counted(new, 'incident')} began within the {period} until "
        f"{datetime.fromtimestamp(due, digest.zone):%d %B %Y %H:%M %Z}; {still_open} "
        f"{verb(still_open, 'is', 'are')} open now."
        + (f" The {rest} that are not listed are on the page." if rest > 0 else ""),
        "severity": max(
            (each.finding.severity for each in incidents if each.is_open),
            key=lambda severity: severity.rank,
            default=Severity.INFO,
        ).value,
        "items": [notice_item(incident) for incident in shown[:_SHOWN_INCIDENTS]],
    }


def enqueue_channel_notices(session: Session, policy: NotificationPolicy, *, now: float) -> int:
    """Report channels whose messages have failed for `FAILING_SECONDS` through the others; once each time."""
    query = (
        select(NotificationRow.channel, func.min(NotificationRow.id), func.max(NotificationRow.error))
        .where(
            NotificationRow.state == WAITING,
            NotificationRow.attempts >= _FAILED_ATTEMPTS,
            NotificationRow.error.is_not(None),
            func.coalesce(NotificationRow.detail["due_since"].as_float(), NotificationRow.created_at)
            <= now - FAILING_SECONDS,
        )
        .group_by(NotificationRow.channel)
    )
    added = 0
    for failing, oldest, error in session.execute(query).all():
        detail = {
            "headline": f"Channel {failing} does not deliver",
            "sentence": f"Messages to the channel {failing} have failed for at least "
            f"{FAILING_SECONDS / 60:.0f} minutes: {error}. They wait and are tried again for 24 hours.",
            "severity": Severity.WARNING.value,
            "path": "/alerts",
            "link_to": "all channels",
            "failing": failing,
            "oldest": oldest,
            "advice": f"Check its settings and its service; `holter alert test {failing}` tries it.",
        }
        others = [name for name in policy.channels if name != failing]
        added += _add_notices(
            session, others, f"failing.{failing}.{oldest}", NoticeType.CHANNEL_FAILING, detail, now
        )
    return added + _enqueue_working_notices(session, now)


def _enqueue_working_notices(session: Session, now: float) -> int:
    """Where a failing channel was reported, report when the message that failed has been delivered."""
    query = select(NotificationRow).where(
        NotificationRow.reason == NoticeType.CHANNEL_FAILING,
        NotificationRow.created_at >= now - _MEMORY_SECONDS,
    )
    added = 0
    for notice in session.scalars(query).all():
        failing, oldest = notice.detail["failing"], notice.detail["oldest"]
        failed = session.get(NotificationRow, oldest)
        if failed is None or failed.state not in ARRIVED:
            continue
        detail = {
            "headline": f"Channel {failing} delivers again",
            "sentence": f"The messages that waited for the channel {failing} have been sent.",
            "severity": Severity.INFO.value,
            "path": "/alerts",
            "link_to": "all channels",
        }
        key = f"working.{failing}.{oldest}"
        added += _add_notices(session, [notice.channel], key, NoticeType.CHANNEL_WORKING, detail, now)
    return added


def _add_notices(
    session: Session,
    channels: Iterable[str],
    key: str,
    reason: NoticeType,
    detail: Mapping[str, Any],
    now: float,
) -> int:
    new = [channel for channel in channels if not _exists(session, f"{key}.{channel}")]
    for channel in new:
        _add_notice(session, channel, channel, f"{key}.{channel}", reason, detail, now)
    return len(new)


def _exists(session: Session, key: str) -> bool:
    return session.scalar(select(NotificationRow.id).where(NotificationRow.key == _short(key))) is not None


def _add_notice(
    session: Session,
    channel: str,
    receiver: str,
    key: str,
    reason: NoticeType,
    detail: Mapping[str, Any],
    now: float,
) -> None:
    session.add(
        NotificationRow(
            incident_id=None,
            channel=channel,
            receiver=receiver,
            key=_short(key),
            reason=reason.value,
            detail=dict(detail),
            state=WAITING,
            attempts=0,
            next_try_at=now,
            created_at=now,
        )
    )


def _short(key: str) -> str:
    """A key of at most 100 characters, as the column has; of a longer one the end differs."""
    return key[-100:]
