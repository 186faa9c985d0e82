"""The tables of agents: each one's last report, and which fell silent together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base
from holter.server.models.points import BigId


class AgentRow(Base):
    """An agent as it last described itself; `report` has the fields of `holter.server.agents.Report`."""

    __tablename__ = "agent"
    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    seen_at: Mapped[float] = mapped_column(index=True)
    report: Mapped[dict[str, Any]]


class OutageRow(Base):
    """Agents that fell silent together, from when it was noticed until all are back for good.

    `agents` is a list of `holter.server.agents.outages.Missing` as JSON. `alone`: no other agent reported
    either. `state` is open, recovered, or closed: none came back, and nobody waits for them any more.
    """

    __tablename__ = "outage"
    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    state: Mapped[str] = mapped_column(String(10), index=True)
    opened_at: Mapped[float]
    over_at: Mapped[float | None]
    alone: Mapped[bool]
    agents: Mapped[list[Any]]
