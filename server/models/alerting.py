"""The table of what people said is planned.

The tables of agents: each one's last report, and which fell silent together.

The outbox: messages about changes of incidents and outages, written in the transaction of the change.

Tables of incidents, of their history, and of what has been analysed.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base
from holter.server.models.points import BigId


class IncidentRow(Base):
    """A finding with a life; one per real-world event. The finding's newest state stands in its columns.

    `state` is open, recovered or closed; acknowledgement stands beside it. `fingerprint` recognises the
    same event when it is found again.
    """

    __tablename__ = "incident"
    __table_args__ = (UniqueConstraint("run_id", "fingerprint"),)
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), index=True)
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
    state: Mapped[str] = mapped_column(String(10), index=True)
    opened_at: Mapped[float] = mapped_column(index=True)
    updated_at: Mapped[float]
    recovered_at: Mapped[float | None]
    closed_at: Mapped[float | None]
    acknowledged_at: Mapped[float | None]
    acknowledged_by: Mapped[str | None] = mapped_column(String(200))


class IncidentEventRow(Base):
    """One line of an incident's history: what changed, when, by whom."""

    __tablename__ = "incident_event"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), index=True)
    at: Mapped[float]
    type: Mapped[str] = mapped_column(String(20))
    by: Mapped[str | None] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text, default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class AnalysisRow(Base):
    """The newest look at a run: which of its news was seen, what it cost, what went wrong (None: nothing).

    `seen_at` is the run's `updated_at` as it was read before looking: a run whose `updated_at` is later
    has news that nobody has looked at yet.
    """

    __tablename__ = "analysis"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True)
    seen_at: Mapped[float]
    looked_at: Mapped[float]
    cost: Mapped[float]
    error: Mapped[str | None] = mapped_column(Text)


class NotificationRow(Base):
    """One message to one channel about one change of one incident or outage, with the reason it was sent.

    `key` makes delivery idempotent; `thread` is what the channel gave to keep later messages together.
    `state` is waiting, delivered, given_up, or folded: told within another message, which `detail` names.
    """

    __tablename__ = "notification"
    __table_args__ = (
        UniqueConstraint("key"),
        CheckConstraint("(incident_id IS NULL) <> (outage_id IS NULL)", name="about_one"),
    )
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int | None] = mapped_column(ForeignKey("incident.id"), index=True)
    outage_id: Mapped[int | None] = mapped_column(ForeignKey("outage.id"), index=True)
    channel: Mapped[str] = mapped_column(String(100))
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

    @classmethod
    def waiting(
        cls,
        channel: str,
        key: str,
        reason: str,
        now: float,
        *,
        incident_id: int | None = None,
        outage_id: int | None = None,
    ) -> NotificationRow:
        """One that is to be sent from now on, about an incident or an outage."""
        return cls(
            incident_id=incident_id,
            outage_id=outage_id,
            channel=channel,
            key=key,
            reason=reason,
            detail={},
            state="waiting",
            attempts=0,
            next_try_at=now,
            created_at=now,
        )


class AgentRow(Base):
    """An agent as it last described itself; `report` has the fields of `holter.server.agents.AgentReport`."""

    __tablename__ = "agent"
    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    seen_at: Mapped[float] = mapped_column(index=True)
    report: Mapped[dict[str, Any]]


class OutageRow(Base):
    """Agents that fell silent together, from when it was noticed until all are back for good.

    `agents` is a list of `holter.server.alerting.outages.Missing` as JSON. `alone`: no other agent reported
    either. `state` is open, recovered, or closed: none came back, and nobody waits for them any more.
    """

    __tablename__ = "outage"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    state: Mapped[str] = mapped_column(String(10), index=True)
    opened_at: Mapped[float]
    over_at: Mapped[float | None]
    alone: Mapped[bool]
    agents: Mapped[list[Any]]


class PlannedEventRow(Base):
    """An event that is planned for one run, or without a run for a whole project.

    `said` holds the fields of `holter.tuning.Expected` that are not at their defaults.
    """

    __tablename__ = "expected_event"
    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    said: Mapped[dict[str, Any]]
    added_at: Mapped[float]
    added_by: Mapped[str | None] = mapped_column(String(200))
