"""The outbox in the database: a channel claims its next message, and records the result of the attempt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from holter.server.alerting.incident import EventType, Incident
from holter.server.alerting.incident_rows import read_incidents
from holter.server.alerting.rate_limit import (
    GIVE_UP_AFTER,
    LONGEST_WAIT,
    QueuedNotification,
    RateLimit,
    SendOne,
    SendSummary,
    SentMessage,
    WaitUntil,
    next_action,
)
from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.models.alerting import IncidentEventRow, IncidentRow, NotificationRow
from holter.types import Severity

WAITING, DELIVERED, GIVEN_UP, FOLDED = "waiting", "delivered", "given_up", "folded"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedMessage:
    """A message that is being sent: the action, and the incidents it is about.

    `thread` groups it with earlier messages about the same incident, None for the first.
    """

    action: SendOne | SendSummary
    key: str
    attempts: int
    created_at: float
    incidents: tuple[Incident, ...]
    thread: str | None

    @property
    def notification_ids(self) -> tuple[int, ...]:
        """The notifications that its delivery settles."""
        return (self.action.carrier, *self.action.folded)


def claim(
    session: Session, channel: str, limit: RateLimit, *, now: float, lease: float
) -> ClaimedMessage | WaitUntil:
    """Claim the channel's next message, which other servers then leave alone for `lease` seconds."""
    query = select(NotificationRow).where(
        NotificationRow.channel == channel, NotificationRow.state == WAITING
    )
    rows = session.scalars(query.order_by(NotificationRow.id).with_for_update(skip_locked=True)).all()
    waiting = {row.id: row for row in rows if not _give_up_if_old(session, row, now)}
    incidents = _incident_rows(session, {row.incident_id for row in waiting.values()})
    action = next_action(
        [_queued(row, incidents) for row in waiting.values()],
        _sent(session, channel, now - limit.window),
        limit,
        now=now,
    )
    if isinstance(action, WaitUntil):
        return action
    claimed = [waiting[number] for number in (action.carrier, *action.folded)]
    for row in claimed:
        row.next_try_at = now + lease
        row.attempts += 1
        row.error = None  # of the last attempt: this one has not failed yet
    carrier = claimed[0]
    affected = [incidents[number] for number in dict.fromkeys(row.incident_id for row in claimed)]
    return ClaimedMessage(
        action=action,
        key=carrier.key,
        attempts=carrier.attempts,
        created_at=carrier.created_at,
        incidents=tuple(read_incidents(session, affected)),
        thread=_thread(session, carrier),
    )


def record_outcome(
    session: Session,
    claimed: ClaimedMessage,
    outcome: Delivered | Retry | GiveUp,
    *,
    now: float,
    delay: float,
) -> None:
    """Record a delivery attempt. `delay`: seconds before the next one, if the channel asks for no longer."""
    query = select(NotificationRow).where(NotificationRow.id.in_(claimed.notification_ids))
    rows = session.scalars(query).all()
    for row in rows:
        if isinstance(outcome, Retry):
            row.next_try_at = now + max(delay, min(outcome.after or 0.0, LONGEST_WAIT))
            row.error = outcome.reason
        elif isinstance(outcome, GiveUp):
            row.state, row.error = GIVEN_UP, outcome.reason
        elif row.id == claimed.action.carrier:
            _mark_delivered(row, claimed.action, outcome, now)
        else:
            row.state, row.error = FOLDED, None
            row.detail = {**row.detail, "within": claimed.action.carrier}
    if not isinstance(outcome, Retry):
        action = claimed.action
        reason = action.reason.value if isinstance(action, SendOne) else "with others"
        failure = outcome.reason if isinstance(outcome, GiveUp) else None
        for incident in claimed.incidents:
            session.add(_history_row(incident.id, rows[0].channel, reason, failure, now))


def retry_failed(session: Session, channel: str, *, now: float) -> None:
    """Let messages that failed be tried at once, since their channel works again."""
    session.execute(
        update(NotificationRow)
        .where(
            NotificationRow.channel == channel,
            NotificationRow.state == WAITING,
            NotificationRow.error.is_not(None),  # those without are claimed, or were never tried
            NotificationRow.next_try_at > now,
        )
        .values(next_try_at=now)
    )


def _history_row(
    incident_id: int, channel: str, reason: str, failure: str | None, now: float
) -> IncidentEventRow:
    """The history line of a notification that was delivered, or was not and why."""
    return IncidentEventRow(
        incident_id=incident_id,
        at=now,
        type=EventType.NOTIFIED if failure is None else EventType.UNDELIVERED,
        text=f"{channel} ({reason})" + (f": {failure}" if failure else ""),
        detail={"channel": channel, "reason": reason},
    )


def _mark_delivered(
    row: NotificationRow, action: SendOne | SendSummary, outcome: Delivered, now: float
) -> None:
    row.state, row.error, row.delivered_at = DELIVERED, None, now
    if isinstance(action, SendOne):
        row.reason, row.thread = action.reason.value, outcome.thread
    else:
        row.detail = {**row.detail, "summary": True}


def give_up_orphans(session: Session, channels: Collection[str], *, now: float) -> None:
    """Give up old notifications of channels that are no longer configured."""
    query = select(NotificationRow).where(
        NotificationRow.state == WAITING, NotificationRow.channel.not_in(channels)
    )
    for row in session.scalars(query):
        row.error = f"there is no channel {row.channel} any more"
        _give_up_if_old(session, row, now)


def seconds_until(action: WaitUntil, now: float) -> float | None:
    """Seconds until the time that the action names, None where it names none."""
    return None if action.until is None else max(0.001, action.until - now)


def _give_up_if_old(session: Session, row: NotificationRow, now: float) -> bool:
    """Give a notification up if it is too old to be of use; whether it was."""
    if now - row.created_at <= GIVE_UP_AFTER:
        return False
    unknown = "the server stopped while it was being sent" if row.attempts else "it never was its turn"
    reason = row.error or unknown
    row.state = GIVEN_UP
    row.error = f"not delivered within {GIVE_UP_AFTER / 3600:.0f} hours: {reason}"
    session.add(_history_row(row.incident_id, row.channel, row.reason, row.error, now))
    return True


def _incident_rows(session: Session, ids: Collection[int]) -> dict[int, IncidentRow]:
    rows = session.scalars(select(IncidentRow).where(IncidentRow.id.in_(ids)))
    return {row.id: row for row in rows}


def _queued(row: NotificationRow, incidents: Mapping[int, IncidentRow]) -> QueuedNotification:
    return QueuedNotification(
        id=row.id,
        incident_id=row.incident_id,
        reason=EventType(row.reason),
        severity=Severity(incidents[row.incident_id].severity),
        created_at=row.created_at,
        next_try_at=row.next_try_at,
    )


def _sent(session: Session, channel: str, since: float) -> Sequence[SentMessage]:
    query = select(NotificationRow.delivered_at, NotificationRow.detail).where(
        NotificationRow.channel == channel,
        NotificationRow.state == DELIVERED,
        NotificationRow.delivered_at > since,
    )
    return [SentMessage(at, bool(detail.get("summary"))) for at, detail in session.execute(query)]


def _thread(session: Session, carrier: NotificationRow) -> str | None:
    """The thread of an incident's messages: the one that its first delivered message started."""
    query = (
        select(NotificationRow.thread)
        .where(
            NotificationRow.incident_id == carrier.incident_id,
            NotificationRow.channel == carrier.channel,
            NotificationRow.thread.is_not(None),
        )
        .order_by(NotificationRow.delivered_at)
        .limit(1)
    )
    return session.scalar(query)
