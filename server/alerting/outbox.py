"""The outbox in the database: what a channel claims to send, and what is written when it was sent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from holter.server.alerting import read_incidents
from holter.server.alerting.lifecycle import EventType
from holter.server.alerting.outages import SEVERITY, Outage, missing_of
from holter.server.alerting.rate_limit import (
    GIVE_UP_AFTER,
    LONGEST_WAIT,
    RateLimit,
    SendOne,
    SentMessage,
    SendSummary,
    WaitUntil,
    QueuedNotification,
    next_action,
)
from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.models.alerting import IncidentRow, IncidentEventRow, NotificationRow, OutageRow
from holter.types import Severity

WAITING, DELIVERED, GIVEN_UP, FOLDED = "waiting", "delivered", "given_up", "folded"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedMessage:
    """What is being sent: the plan, and all that the message is made of. `incidents` as JSON.

    `run_id` is that of the first incident, None where there is none.
    """

    plan: SendOne | SendSummary
    key: str
    attempts: int
    created_at: float
    run_id: int | None
    incidents: tuple[dict[str, Any], ...]
    outages: tuple[Outage, ...]
    thread: str | None

    @property
    def rows(self) -> tuple[int, ...]:
        """The notifications that it settles."""
        return (self.plan.carrier, *self.plan.folded)


def claim(
    session: Session, channel: str, pace: RateLimit, *, now: float, lease: float
) -> ClaimedMessage | WaitUntil:
    """Decide what the channel sends next, and keep it from other servers for `lease` seconds."""
    query = select(NotificationRow).where(
        NotificationRow.channel == channel, NotificationRow.state == WAITING
    )
    rows = session.scalars(query.order_by(NotificationRow.id).with_for_update(skip_locked=True)).all()
    waiting = {row.id: row for row in rows if not _expired(session, row, now)}
    incidents = _incidents(session, {row.incident_id for row in waiting.values()})
    outages = _outages(session, {row.outage_id for row in waiting.values()})
    plan = next_action(
        [_waiting(row, incidents) for row in waiting.values()],
        _sent(session, channel, now - pace.window),
        pace,
        now=now,
    )
    if isinstance(plan, WaitUntil):
        return plan
    taken = [waiting[row_id] for row_id in (plan.carrier, *plan.folded)]
    for row in taken:
        row.next_try_at = now + lease
        row.attempts += 1
    carrier = taken[0]
    concerned = [incidents[key] for key in dict.fromkeys(row.incident_id for row in taken) if key]
    return ClaimedMessage(
        plan=plan,
        key=carrier.key,
        attempts=carrier.attempts,
        created_at=carrier.created_at,
        run_id=concerned[0].run_id if concerned else None,
        incidents=tuple(read_incidents(session, concerned)),
        outages=tuple(outages[key] for key in dict.fromkeys(row.outage_id for row in taken) if key),
        thread=_thread(session, carrier),
    )


def record_outcome(
    session: Session, claimed: ClaimedMessage, outcome: Delivered | Retry | GiveUp, *, now: float, rest: float
) -> None:
    """Write what became of it. `rest`: seconds before the next try, if the channel asks for no longer."""
    rows = session.scalars(select(NotificationRow).where(NotificationRow.id.in_(claimed.rows))).all()
    for row in rows:
        if isinstance(outcome, Retry):
            row.next_try_at = now + max(rest, min(outcome.after or 0.0, LONGEST_WAIT))
            row.error = outcome.reason
        elif isinstance(outcome, GiveUp):
            row.state, row.error = GIVEN_UP, outcome.reason
        elif row.id == claimed.plan.carrier:
            _delivered(row, claimed.plan, outcome, now)
        else:
            row.state, row.error = FOLDED, None
            row.detail = {**row.detail, "within": claimed.plan.carrier}
    if not isinstance(outcome, Retry):
        why = claimed.plan.reason.value if isinstance(claimed.plan, SendOne) else "with others"
        failure = outcome.reason if isinstance(outcome, GiveUp) else None
        for incident in claimed.incidents:
            session.add(_in_history(incident["id"], rows[0].channel, why, failure, now))


def _in_history(
    incident_id: int, channel: str, why: str, failure: str | None, now: float
) -> IncidentEventRow:
    """The line that says who was told and why, or was not told and why not."""
    return IncidentEventRow(
        incident_id=incident_id,
        at=now,
        type=EventType.NOTIFIED if failure is None else EventType.UNDELIVERED,
        text=f"{channel} ({why})" + (f": {failure}" if failure else ""),
        detail={"channel": channel, "reason": why},
    )


def _delivered(row: NotificationRow, plan: SendOne | SendSummary, outcome: Delivered, now: float) -> None:
    row.state, row.error, row.delivered_at = DELIVERED, None, now
    if isinstance(plan, SendOne):
        row.reason, row.thread = plan.reason.value, outcome.thread
    else:
        row.detail = {**row.detail, "summary": True}


def expire_orphans(session: Session, channels: Collection[str], *, now: float) -> None:
    """Give up what has long waited for channels that are no longer set up."""
    query = select(NotificationRow).where(
        NotificationRow.state == WAITING, NotificationRow.channel.not_in(channels)
    )
    for row in session.scalars(query):
        row.error = f"there is no channel {row.channel} any more"
        _expired(session, row, now)


def next_wait(plan: WaitUntil, now: float) -> float | None:
    """Seconds until the moment a decision named."""
    return None if plan.until is None else max(0.001, plan.until - now)


def _expired(session: Session, row: NotificationRow, now: float) -> bool:
    """Give a notification up if it is too old to help anybody."""
    if now - row.created_at <= GIVE_UP_AFTER:
        return False
    reason = row.error or "it never was its turn"
    row.state = GIVEN_UP
    row.error = f"not delivered within {GIVE_UP_AFTER / 3600:.0f} hours: {reason}"
    if row.incident_id is not None:
        session.add(_in_history(row.incident_id, row.channel, row.reason, row.error, now))
    return True


def _incidents(session: Session, ids: set[int | None]) -> dict[int, IncidentRow]:
    return {
        row.id: row for row in session.scalars(select(IncidentRow).where(IncidentRow.id.in_(ids - {None})))
    }


def _outages(session: Session, ids: set[int | None]) -> dict[int, Outage]:
    if not ids - {None}:
        return {}
    rows = session.scalars(select(OutageRow).where(OutageRow.id.in_(ids - {None})))
    return {row.id: _outage(row) for row in rows}


def _outage(row: OutageRow) -> Outage:
    agents = tuple(missing_of(one) for one in row.agents)
    return Outage(id=row.id, agents=agents, alone=row.alone, over=row.over_at is not None)


def _waiting(row: NotificationRow, incidents: Mapping[int, IncidentRow]) -> QueuedNotification:
    incident = None if row.incident_id is None else incidents[row.incident_id]
    return QueuedNotification(
        id=row.id,
        about=("outage", row.outage_id) if incident is None else ("incident", incident.id),
        reason=EventType(row.reason),
        severity=SEVERITY if incident is None else Severity(incident.severity),
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
    """What keeps the messages of an incident or outage together: what the first delivered one gave."""
    query = (
        select(NotificationRow.thread)
        .where(
            NotificationRow.incident_id == carrier.incident_id
            if carrier.outage_id is None
            else NotificationRow.outage_id == carrier.outage_id,
            NotificationRow.channel == carrier.channel,
            NotificationRow.thread.is_not(None),
        )
        .order_by(NotificationRow.delivered_at)
        .limit(1)
    )
    return session.scalar(query)
