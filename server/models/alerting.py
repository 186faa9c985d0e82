"""Tables of incidents and their history, notifications, silences, agents, planned events, analysis passes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base
from holter.server.models.points import BigId


class IncidentRow(Base):
    """The newest finding about one event, with its state; read and written by `alerting.incident_rows`.

    `run_id` is NULL for an incident about agents, whose steps are wall times in milliseconds. `state` is
    open, recovered or closed; acknowledgement is independent of it. `fingerprint` recognises the event when
    it is detected again. `causes` is NULL in rows that are older than the column.
    """

    __tablename__ = "incident"
    __table_args__ = (
        UniqueConstraint("run_id", "fingerprint"),
        Index("ix_incident_version", "run_id", "updated_at"),  # which runs have changed incidents
    )
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id"), index=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(40))
    metric: Mapped[str] = mapped_column(String(500))
    labels: Mapped[dict[str, Any]]
    attempt: Mapped[int]
    start_step: Mapped[int] = mapped_column(BigInteger)
    start_time: Mapped[float | None]
    peak_step: Mapped[int | None] = mapped_column(BigInteger)
    end_step: Mapped[int | None] = mapped_column(BigInteger)
    detected_step: Mapped[int] = mapped_column(BigInteger)
    classified_step: Mapped[int | None] = mapped_column(BigInteger)
    severity: Mapped[str] = mapped_column(String(10))
    confidence: Mapped[float]
    summary: Mapped[str] = mapped_column(Text)
    advice: Mapped[str] = mapped_column(Text)
    evidence: Mapped[dict[str, Any]]
    causes: Mapped[list[Any] | None]
    state: Mapped[str] = mapped_column(String(10), index=True)
    opened_at: Mapped[float] = mapped_column(index=True)
    updated_at: Mapped[float]
    recovered_at: Mapped[float | None]
    closed_at: Mapped[float | None]
    acknowledged_at: Mapped[float | None]
    acknowledged_by: Mapped[str | None] = mapped_column(String(200))


class IncidentEventRow(Base):
    """One line of an incident's history: what changed, when, and by whom (NULL: Holter itself)."""

    __tablename__ = "incident_event"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), index=True)
    at: Mapped[float]
    type: Mapped[str] = mapped_column(String(20))
    by: Mapped[str | None] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text, default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class AnalysisRow(Base):
    """The newest analysis pass over a run: which of its news it covered, its cost, its error (NULL: none).

    `seen_at` is the run's `updated_at` as it was read before the pass: a run with a later `updated_at` has
    news that was not analysed yet. `cost` is in seconds.
    """

    __tablename__ = "analysis"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    seen_at: Mapped[float]
    looked_at: Mapped[float]
    cost: Mapped[float]
    error: Mapped[str | None] = mapped_column(Text)


class NotificationRow(Base):
    """One message to one channel about one change of one incident, with the reason for it.

    `incident_id` is NULL for a message that is about none, such as a digest. `key` makes delivery
    idempotent; `thread` is what the channel returned to group later messages with it. `group_key` is equal
    for notifications that are sent together; NULL: those of the incident. `state` is waiting, delivered,
    given_up, suppressed (its incident ended while it was muted), or folded: sent within another message,
    which `detail` names.
    """

    __tablename__ = "notification"
    __table_args__ = (UniqueConstraint("key"),)
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int | None] = mapped_column(ForeignKey("incident.id"), index=True)
    channel: Mapped[str] = mapped_column(String(100))
    receiver: Mapped[str | None] = mapped_column(String(100))
    group_key: Mapped[str | None] = mapped_column(String(100), index=True)
    key: Mapped[str] = mapped_column(String(100))
    reason: Mapped[str] = mapped_column(String(40))
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    state: Mapped[str] = mapped_column(String(10), index=True)
    attempts: Mapped[int] = mapped_column(default=0)
    next_try_at: Mapped[float]
    created_at: Mapped[float]
    delivered_at: Mapped[float | None]
    thread: Mapped[str | None] = mapped_column(String(500))
    error: Mapped[str | None] = mapped_column(Text)


class NotificationDecisionRow(Base):
    """Why a channel was, or was not, notified of an incident's change.

    `outcome` is notified, not_notified or muted; `channel` is empty where no route leads to one.
    """

    __tablename__ = "notification_decision"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), index=True)
    at: Mapped[float]
    channel: Mapped[str] = mapped_column(String(100))
    receiver: Mapped[str] = mapped_column(String(100))
    outcome: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(String(40))
    text: Mapped[str] = mapped_column(Text)
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class SilenceRow(Base):
    """Mutes incidents that all `matchers` (a list of texts) match, from `starts_at` until `ends_at`."""

    __tablename__ = "silence"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    matchers: Mapped[list[Any]]
    comment: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[float]
    starts_at: Mapped[float]
    ends_at: Mapped[float] = mapped_column(index=True)


class AgentRow(Base):
    """An agent's newest report; `report` has the fields of `holter.server.agents.AgentReport`."""

    __tablename__ = "agent"
    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    seen_at: Mapped[float] = mapped_column(index=True)
    report: Mapped[dict[str, Any]]


class PlannedEventRow(Base):
    """An event that is planned for one run, or without a run for an entire project.

    `said` holds the fields of `holter.tuning.PlannedEvent` that differ from their defaults.
    """

    __tablename__ = "expected_event"
    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    said: Mapped[dict[str, Any]]
    added_at: Mapped[float]
    added_by: Mapped[str | None] = mapped_column(String(200))
