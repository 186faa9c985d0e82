"""The table of agents: each one's last report."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class AgentRow(Base):
    """An agent as it last described itself; `report` has the fields of `holter.server.agents.Report`."""

    __tablename__ = "agent"
    agent: Mapped[str] = mapped_column(String(200), primary_key=True)
    seen_at: Mapped[float] = mapped_column(index=True)
    report: Mapped[dict[str, Any]]
