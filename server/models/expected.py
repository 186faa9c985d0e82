"""The table of what people said is planned."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class ExpectedEvent(Base):
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
