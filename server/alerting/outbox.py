"""The outbox in the database: a channel claims its next message, and records the result of the attempt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session

from holter.server.alerting.enqueue import MUTED, NOTIFIED, record_decision
from holter.server.alerting.incident import EventType, Incident, IncidentState
from holter.server.alerting.incident_labels import read_labels
from holter.server.alerting.incident_rows import read_incidents
from holter.server.alerting.muting import MuteReason, Muting
from holter.server.alerting.notification_rows import ARRIVED, DELIVERED, FOLDED, GIVEN_UP, SUPPRESSED, WAITING
from holter.server.alerting.rate_limit import (
    GIVE_UP_AFTER,
    LONGEST_WAIT,
    QueuedNotification,
    RateLimit,
    SendGroup,
    SendNotice,
    SendOne,
    SendSummary,
    SentMessage,
    WaitUntil,
    next_action,
)
from holter.server.alerting.reasons import BEGINNINGS, ENDINGS, UPDATES, NoticeType
from holter.server.alerting.routing import NO_POLICY, NotificationPolicy, Route
from holter.server.alerting.routing.targets import ChannelTarget
from holter.server.channels import Delivered, GiveUp, Retry
from holter.server.models.alerting import IncidentEventRow, IncidentRow, NotificationRow
from holter.types import Severity

_MOST_UPDATED = 100
"""Threads whose first message is updated because of one message."""
_REMINDERS = frozenset({EventType.REMINDER, EventType.NOT_ACKNOWLEDGED})
SendAction = SendOne | SendGroup | SendSummary | SendNotice


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageThread:
    """A thread of messages that a channel has shown: the incidents of its first message, by their numbers.

    `summary`: that message is a summary.
    """

    thread: str
    incidents: tuple[Incident, ...]
    summary: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedMessage:
    """A message that is being sent: the action, and the incidents it is about.

    `thread` groups it with earlier messages about the same incident or group, None for the first. `group`
    is the same in all of them. `resolved`: no incident of the thread is open any more. `notice`: the
    details of a message that is about no incident. `threads`: those of which a channel that can do so updates
    the first message. `arrived_at`: when the points arrived that caused it, None where no points did.
    `common_reason`: that of all notifications of the message, None where they differ.
    """

    action: SendAction
    key: str
    attempts: int
    created_at: float
    incidents: tuple[Incident, ...]
    thread: str | None
    group: str = ""
    receiver: str = ""
    resolved: bool = False
    notice: Mapping[str, Any] = field(default_factory=dict)
    arrived_at: float | None = None
    threads: tuple[MessageThread, ...] = ()
    common_reason: EventType | None = None

    @property
    def notification_ids(self) -> tuple[int, ...]:
        """The notifications that its delivery settles."""
        return (self.action.carrier, *self.action.folded)


def claim(
    session: Session,
    channel: str,
    limit: RateLimit,
    *,
    now: float,
    lease: float,
    policy: NotificationPolicy = NO_POLICY,
) -> ClaimedMessage | WaitUntil:
    """Claim the channel's next message, which other servers then leave alone for `lease` seconds."""
    query = select(NotificationRow).where(
        NotificationRow.channel == channel, NotificationRow.state == WAITING
    )
    rows = session.scalars(query.order_by(NotificationRow.id).with_for_update(skip_locked=True)).all()
    incidents = _incident_rows(session, {row.incident_id for row in rows if row.incident_id is not None})
    ready = _without_muted(session, rows, incidents, policy, now)
    waiting = {row.id: row for row in ready if not _give_up_if_old(session, row, now)}
    action = next_action(
        _queue(session, channel, list(waiting.values()), incidents, policy),
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
    message = _claimed_message(session, action, claimed, incidents)
    settings = policy.channels.get(channel)
    if settings is None or not settings.updates:
        return message
    return replace(message, threads=tuple(_read_threads(session, channel, message.incidents)))


def _read_threads(session: Session, channel: str, incidents: Sequence[Incident]) -> Iterator[MessageThread]:
    """The threads of which the first message shows these incidents, the newest first."""
    shown = NotificationRow.channel == channel, NotificationRow.thread.is_not(None)
    query = (
        select(NotificationRow.thread)
        .where(*shown, NotificationRow.incident_id.in_([incident.id for incident in incidents]))
        .group_by(NotificationRow.thread)
        .order_by(func.max(NotificationRow.id).desc())
    )
    for thread in session.scalars(query.limit(_MOST_UPDATED)).all():
        query_rows = select(NotificationRow.incident_id, NotificationRow.detail).where(
            *shown, NotificationRow.thread == thread, NotificationRow.incident_id.is_not(None)
        )
        rows = session.execute(query_rows.order_by(NotificationRow.id)).all()
        numbers = dict.fromkeys(number for number, _ in rows if number is not None)
        by_number = _incident_rows(session, numbers)
        yield MessageThread(
            thread=str(thread),
            incidents=tuple(read_incidents(session, [by_number[number] for number in numbers])),
            summary=any(detail.get("summary") for _, detail in rows),
        )


def _claimed_message(
    session: Session,
    action: SendAction,
    claimed: Sequence[NotificationRow],
    incidents: Mapping[int, IncidentRow],
) -> ClaimedMessage:
    carrier = claimed[0]
    numbers = dict.fromkeys(row.incident_id for row in claimed if row.incident_id is not None)
    affected = [incidents[number] for number in numbers]
    thread = None if isinstance(action, SendSummary | SendNotice) else _thread(session, carrier)
    return ClaimedMessage(
        action=action,
        key=carrier.key,
        attempts=carrier.attempts,
        created_at=carrier.created_at,
        incidents=tuple(read_incidents(session, affected)),
        thread=thread,
        group=_group(action, carrier),
        receiver=carrier.receiver or carrier.channel,
        resolved=not any(row.state == IncidentState.OPEN for row in affected)
        and not (thread and _has_open_incident(session, carrier.channel, thread)),
        notice=carrier.detail if isinstance(action, SendNotice) else {},
        arrived_at=_arrived_at(claimed),
        common_reason=_common_reason(claimed),
    )


def _arrived_at(claimed: Sequence[NotificationRow]) -> float | None:
    times = [row.detail["arrived_at"] for row in claimed if "arrived_at" in row.detail]
    return min(times, default=None)


def _common_reason(claimed: Sequence[NotificationRow]) -> EventType | None:
    reasons = {row.reason for row in claimed}
    return EventType(reasons.pop()) if len(reasons) == 1 and reasons <= {*EventType} else None


def _group(action: SendAction, carrier: NotificationRow) -> str:
    if isinstance(action, SendSummary | SendNotice):
        return carrier.key.replace("working.", "failing.", 1)  # what works again ends what failed
    return carrier.group_key or f"incident-{carrier.incident_id}"


def _has_open_incident(session: Session, channel: str, thread: str) -> bool:
    """Whether an incident of a thread of messages is open."""
    query = (
        select(IncidentRow.id)
        .join(NotificationRow, NotificationRow.incident_id == IncidentRow.id)
        .where(
            NotificationRow.channel == channel,
            NotificationRow.thread == thread,
            IncidentRow.state == IncidentState.OPEN,
        )
    )
    return session.scalar(query.limit(1)) is not None


def _without_muted(
    session: Session,
    rows: Sequence[NotificationRow],
    incidents: Mapping[int, IncidentRow],
    policy: NotificationPolicy,
    now: float,
) -> list[NotificationRow]:
    """The rows that nothing mutes. Those of incidents that ended while they were mute are dropped."""
    if not incidents:
        return list(rows)
    labels = read_labels(session, list(incidents.values()))
    muting = Muting(session, policy, now)
    informed = _informed(session, rows)
    result = []
    for row in rows:
        if row.incident_id is None or (row.reason in ENDINGS | UPDATES and row.incident_id in informed):
            result.append(row)  # an ending goes to whoever got the opening
            continue
        if row.reason in UPDATES:
            _drop_without_message(session, row)
            continue
        incident = incidents[row.incident_id]
        if needless := _why_needless(session, row, incident, policy):
            row.state, row.error = SUPPRESSED, needless
            continue
        route = policy.route_at(row.detail.get("route", ""))
        reason = muting.reason(incident.id, labels[incident.id], Severity(incident.severity), route)
        _note_muting(session, row, reason, route or policy.root, now)
        if reason is None:
            result.append(row)
        elif incident.state != IncidentState.OPEN:
            row.state, row.error = SUPPRESSED, f"the incident ended while it was muted ({reason.text})"
    return result


def _why_needless(
    session: Session, row: NotificationRow, incident: IncidentRow, policy: NotificationPolicy
) -> str:
    """Why a message that was never tried is not needed any more; empty where it is."""
    if row.attempts:
        return ""
    is_open, is_acknowledged = incident.state == IncidentState.OPEN, incident.acknowledged_at is not None
    if row.reason in _REMINDERS and (is_acknowledged or not is_open):
        return "somebody has acknowledged it" if is_open else "the incident has ended"
    if row.reason in ENDINGS and not _has_rows(session, row, NotificationRow.state != SUPPRESSED):
        return "the channel was not notified of its beginning"
    channel = policy.channels.get(row.channel)
    least = None if channel is None else channel.minimum
    is_less = least is not None and Severity(incident.severity).rank < least.rank
    if is_less and not is_open and row.reason in BEGINNINGS:
        arrived = _has_rows(session, row, NotificationRow.state.in_(ARRIVED))
        return "" if arrived else "it turned out to be information before it was sent"
    return ""


def _has_rows(session: Session, row: NotificationRow, condition: ColumnElement[bool]) -> bool:
    """Whether the channel has other notifications of the incident than ends and updates, which are so."""
    query = select(NotificationRow.id).where(
        NotificationRow.incident_id == row.incident_id,
        NotificationRow.channel == row.channel,
        NotificationRow.reason.not_in(ENDINGS | UPDATES),
        condition,
    )
    return session.scalar(query.limit(1)) is not None


def _drop_without_message(session: Session, row: NotificationRow) -> None:
    """Drop an update if its incident has no message and none that waits; else it waits for that, too."""
    query = select(NotificationRow.id).where(
        NotificationRow.incident_id == row.incident_id,
        NotificationRow.channel == row.channel,
        NotificationRow.state == WAITING,
        NotificationRow.reason.not_in(UPDATES),
    )
    if session.scalar(query.limit(1)) is None:
        row.state, row.error = SUPPRESSED, "there is no message that it could update"


def _note_muting(
    session: Session, row: NotificationRow, reason: MuteReason | None, route: Route, now: float
) -> None:
    """Note in a row what mutes it, and record the decision where that has changed."""
    before = row.detail.get("muted")
    text = None if reason is None else reason.text
    if before == text or row.incident_id is None:
        return
    detail = {name: value for name, value in row.detail.items() if name != "muted"}
    row.detail = detail | ({"due_since": now} if text is None else {"muted": text})
    record_decision(
        session,
        row.incident_id,
        now,
        ChannelTarget(row.channel, route),
        outcome=NOTIFIED if text is None else MUTED,
        reason=row.reason,
        text=f"no longer muted ({before})" if text is None else text,
    )


def _informed(session: Session, rows: Sequence[NotificationRow]) -> set[int]:
    """The incidents of these rows of one channel of which the channel has received a message."""
    ends = {row.incident_id for row in rows if row.reason in ENDINGS | UPDATES}
    if not ends:
        return set()
    query = select(NotificationRow.incident_id).where(
        NotificationRow.channel.in_({row.channel for row in rows}),
        NotificationRow.incident_id.in_(ends),
        NotificationRow.state.in_(ARRIVED),
    )
    return {number for number in session.scalars(query) if number is not None}


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
            row.state, row.error, row.thread = FOLDED, None, outcome.thread
            row.detail = {**row.detail, "within": claimed.action.carrier}
    if not isinstance(outcome, Retry):
        action = claimed.action
        reason = "with others" if isinstance(action, SendSummary) else action.reason.value
        failure = outcome.reason if isinstance(outcome, GiveUp) else None
        if failure is None and reason in UPDATES:
            return  # it only shows what the history states already
        for incident in claimed.incidents:
            session.add(_history_row(incident.id, rows[0].channel, reason, failure, now))


def release_claims(session: Session, *, now: float) -> None:
    """Let messages that a process was sending when it was killed be sent again at once.

    Only where no other server uses the database: its claims look the same.
    """
    session.execute(
        update(NotificationRow)
        .where(
            NotificationRow.state == WAITING,
            NotificationRow.attempts > 0,
            NotificationRow.error.is_(None),
            NotificationRow.next_try_at > now,
        )
        .values(next_try_at=now)
    )


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


def _mark_delivered(row: NotificationRow, action: SendAction, outcome: Delivered, now: float) -> None:
    row.state, row.error, row.delivered_at, row.thread = DELIVERED, None, now, outcome.thread
    if isinstance(action, SendSummary):
        row.detail = {**row.detail, "summary": True}
    else:
        row.reason = action.reason.value


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
    if now - max(row.created_at, row.detail.get("due_since", 0.0)) <= GIVE_UP_AFTER:
        return False
    unknown = "the server stopped while it was being sent" if row.attempts else "it never was its turn"
    reason = row.error or unknown
    row.state = GIVEN_UP
    row.error = f"not delivered within {GIVE_UP_AFTER / 3600:.0f} hours: {reason}"
    if row.incident_id is not None:
        session.add(_history_row(row.incident_id, row.channel, row.reason, row.error, now))
    return True


def _incident_rows(session: Session, ids: Collection[int]) -> dict[int, IncidentRow]:
    rows = session.scalars(select(IncidentRow).where(IncidentRow.id.in_(ids)))
    return {row.id: row for row in rows}


def _queue(
    session: Session,
    channel: str,
    rows: Sequence[NotificationRow],
    incidents: Mapping[int, IncidentRow],
    policy: NotificationPolicy,
) -> list[QueuedNotification]:
    """These rows as the rate limit sees them, with the times of their routes."""
    routes = {row.id: policy.route_at(row.detail.get("route", "")) for row in rows}
    spaced = [row for row in rows if (route := routes[row.id]) is not None and route.group_interval]
    sent_at = _group_sent_at(session, channel, spaced)
    return [_queued(row, incidents, routes[row.id], sent_at.get(_group_of(row))) for row in rows]


def _queued(
    row: NotificationRow, incidents: Mapping[int, IncidentRow], route: Route | None, sent_at: float | None
) -> QueuedNotification:
    severity, reason = Severity.WARNING, parse_reason(row)
    if row.incident_id is not None:
        severity = Severity(incidents[row.incident_id].severity)
    return QueuedNotification(
        id=row.id,
        incident_id=row.incident_id,
        reason=reason,
        severity=severity,
        created_at=max(row.created_at, row.detail.get("due_since", 0.0)),
        next_try_at=row.next_try_at,
        group=row.group_key or "",
        wait=None if route is None else route.group_wait,
        not_before=float("-inf") if sent_at is None or route is None else sent_at + route.group_interval,
    )


def parse_reason(row: NotificationRow) -> EventType | NoticeType:
    """The reason of a notification."""
    return NoticeType(row.reason) if row.incident_id is None else EventType(row.reason)


def _group_of(row: NotificationRow) -> str | int | None:
    return row.group_key or row.incident_id


def _group_sent_at(
    session: Session, channel: str, rows: Sequence[NotificationRow]
) -> dict[str | int | None, float]:
    """When something was last sent about the groups of these rows."""
    result: dict[str | int | None, float] = {}
    for column, values in (
        (NotificationRow.group_key, {row.group_key for row in rows if row.group_key}),
        (NotificationRow.incident_id, {row.incident_id for row in rows if not row.group_key}),
    ):
        if values:
            query = select(column, func.max(NotificationRow.delivered_at)).where(
                NotificationRow.channel == channel,
                column.in_(values),
                NotificationRow.delivered_at.is_not(None),
                NotificationRow.reason.not_in(UPDATES),
            )
            result |= {group: at for group, at in session.execute(query.group_by(column)) if at is not None}
    return result


def _sent(session: Session, channel: str, since: float) -> Sequence[SentMessage]:
    query = select(NotificationRow.delivered_at, NotificationRow.detail).where(
        NotificationRow.channel == channel,
        NotificationRow.state == DELIVERED,
        NotificationRow.delivered_at > since,
        NotificationRow.reason.not_in(UPDATES),
    )
    return [SentMessage(at, bool(detail.get("summary"))) for at, detail in session.execute(query)]


def _thread(session: Session, carrier: NotificationRow) -> str | None:
    """The thread of a group's messages, or of the incident's: the one that the first message started."""
    same = [NotificationRow.incident_id == carrier.incident_id]
    if carrier.group_key is not None:
        same.insert(0, NotificationRow.group_key == carrier.group_key)
    for condition in same:
        query = select(NotificationRow.thread).where(
            condition, NotificationRow.channel == carrier.channel, NotificationRow.thread.is_not(None)
        )
        if (thread := session.scalar(query.order_by(NotificationRow.id).limit(1))) is not None:
            return thread
    return None


def retry_given_up(session: Session, notification_id: int, *, now: float) -> NotificationRow | None:
    """Let a message that was given up be sent again; None if there is none such."""
    row = session.get(NotificationRow, notification_id, with_for_update=True)
    if row is None or row.state != GIVEN_UP:
        return None
    row.state, row.attempts, row.next_try_at, row.error = WAITING, 0, now, None
    row.detail = {**row.detail, "due_since": now}
    return row
