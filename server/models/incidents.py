"""Tables of incidents, of their history, and of what has been analysed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base
from holter.server.models.points import BigId


class Incident(Base):
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


class IncidentEvent(Base):
    """One line of an incident's history: what changed, when, by whom."""

    __tablename__ = "incident_event"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incident.id"), index=True)
    at: Mapped[float]
    type: Mapped[str] = mapped_column(String(20))
    by: Mapped[str | None] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text, default="")
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)


class Analysis(Base):
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
