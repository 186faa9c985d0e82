"""Reads the outbox for people: notifications, the state of channels, decisions about an incident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from holter.detectors.findings import title_of
from holter.server.alerting.notification_rows import DELIVERED, GIVEN_UP, WAITING
from holter.server.alerting.routing import NotificationPolicy
from holter.server.channels import ConfiguredChannel
from holter.server.models import (
    IncidentRow,
    NotificationDecisionRow,
    NotificationRow,
    RunRecord,
)
from holter.server.schemas.alerting import ChannelView, DecisionView, NotificationPage, NotificationView
from holter.types import Kind

_MUTED = NotificationRow.detail["muted"].as_string().is_not(None)


def read_notifications(
    session: Session,
    *,
    state: str | None = None,
    channel: str | None = None,
    incident: int | None = None,
    before: int | None = None,
    limit: int = 100,
) -> NotificationPage:
    """One page of notifications, the newest first. `state`: as `NotificationState`."""
    newest = (
        select(NotificationRow, IncidentRow.kind, RunRecord.name)
        .outerjoin(IncidentRow, IncidentRow.id == NotificationRow.incident_id)
        .outerjoin(RunRecord, RunRecord.id == IncidentRow.run_id)
        .order_by(NotificationRow.id.desc())
        .limit(limit + 1)
    )
    query: Select[*tuple[Any, ...]] = _filtered(newest, state, channel, incident)
    if before is not None:
        query = query.where(NotificationRow.id < before)
    rows = session.execute(query).all()
    views = [notification_view(row, kind, run) for row, kind, run in rows[:limit]]
    return {"notifications": views, "next": views[-1]["id"] if len(rows) > limit else None}


def _filtered(
    query: Select[*tuple[Any, ...]], state: str | None, channel: str | None, incident: int | None
) -> Select[*tuple[Any, ...]]:
    if state in {"muted", WAITING}:
        query = query.where(NotificationRow.state == WAITING, _MUTED if state == "muted" else ~_MUTED)
    elif state is not None:
        query = query.where(NotificationRow.state == state)
    if channel is not None:
        query = query.where(NotificationRow.channel == channel)
    return query if incident is None else query.where(NotificationRow.incident_id == incident)


def notification_view(row: NotificationRow, kind: str | None, run: str | None) -> NotificationView:
    """A notification as the REST interface returns it; `kind` and `run` are those of its incident."""
    muted = row.detail.get("muted") if row.state == WAITING else None
    title = str(row.detail.get("headline", "")) if kind is None else title_of(Kind(kind))
    return {
        "id": row.id,
        "incident_id": row.incident_id,
        "channel": row.channel,
        "receiver": row.receiver or row.channel,
        "reason": row.reason,
        "route": row.detail.get("route", ""),
        "state": "muted" if muted else row.state,  # type: ignore[typeddict-item] # as it is stored
        "attempts": row.attempts,
        "created_at": row.created_at,
        "next_try_at": row.next_try_at if row.state == WAITING else None,
        "delivered_at": row.delivered_at,
        "error": row.error,
        "muted": muted,
        "within": row.detail.get("within"),
        "title": f"{title} in {run}" if run else title,
    }


def read_decisions(session: Session, incident_id: int) -> list[DecisionView]:
    """Why channels were, or were not, notified of an incident, the oldest decision first."""
    query = select(NotificationDecisionRow).where(NotificationDecisionRow.incident_id == incident_id)
    return [
        {
            "at": row.at,
            "channel": row.channel,
            "receiver": row.receiver,
            "outcome": row.outcome,  # type: ignore[typeddict-item] # as it is stored
            "reason": row.reason,
            "text": row.text,
            "route": row.detail.get("route", ""),
        }
        for row in session.scalars(query.order_by(NotificationDecisionRow.id))
    ]


def channel_views(
    session: Session,
    channels: Mapping[str, ConfiguredChannel],
    policy: NotificationPolicy,
    paused: Mapping[str, float],
) -> list[ChannelView]:
    """All channels with the state of their delivery; `paused`: until when a channel gets no attempt."""
    waiting = _counts(session, NotificationRow.state == WAITING)
    muted = _counts(session, NotificationRow.state == WAITING, _MUTED)
    given_up = _counts(session, NotificationRow.state == GIVEN_UP)
    delivered = _by_channel(
        session, func.max(NotificationRow.delivered_at), NotificationRow.state == DELIVERED
    )
    failing = _failing(session)
    return [
        {
            "name": name,
            "type": opened.settings.type,
            "destination": opened.channel.destination,
            "minimum": policy.channels[name].minimum,
            "state": "failing" if name in failing else "working" if name in delivered else "unused",
            "waiting": waiting.get(name, 0) - muted.get(name, 0),
            "muted": muted.get(name, 0),
            "given_up": given_up.get(name, 0),
            "last_delivered_at": delivered.get(name),
            "failing_since": failing[name].created_at if name in failing else None,
            "paused_until": paused.get(name),
            "error": failing[name].error if name in failing else None,
        }
        for name, opened in channels.items()
    ]


def _failing(session: Session) -> dict[str, NotificationRow]:
    """The oldest message of each channel that it does not take."""
    query = select(NotificationRow).where(
        NotificationRow.state == WAITING, NotificationRow.error.is_not(None)
    )
    result: dict[str, NotificationRow] = {}
    for row in session.scalars(query.order_by(NotificationRow.id)):
        result.setdefault(row.channel, row)
    return result


def _counts(session: Session, *conditions: ColumnElement[bool]) -> dict[str, int]:
    return _by_channel(session, func.count(), *conditions)


def _by_channel(session: Session, value: Any, *conditions: ColumnElement[bool]) -> dict[str, Any]:
    query = select(NotificationRow.channel, value).where(*conditions).group_by(NotificationRow.channel)
    return {channel: result for channel, result in session.execute(query)}


def read_all_given_up(session: Session, channel: str | None = None) -> Sequence[int]:
    """The numbers of all notifications that were given up."""
    query = select(NotificationRow.id).where(NotificationRow.state == GIVEN_UP)
    if channel is not None:
        query = query.where(NotificationRow.channel == channel)
    return session.scalars(query.order_by(NotificationRow.id)).all()
