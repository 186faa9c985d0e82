"""The outbox: messages about changes of incidents and outages, written in the transaction of the change."""

from __future__ import annotations

from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base
from holter.server.models.points import BigId


class Notification(Base):
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
    ) -> Notification:
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
