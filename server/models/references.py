"""The tables of reference runs, and of how runs compare with them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class ReferenceRow(Base):
    """A run that is pinned as a reference of its project, one that was compared with references, or both.

    `pinned_at` is NULL for a run that is not pinned. `checks` has the fields of
    `holter.server.reference_checks.ReferenceChecks`, or is empty.
    """

    __tablename__ = "run_reference"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    pinned_at: Mapped[float | None]
    pinned_by: Mapped[str | None] = mapped_column(String(200))
    checks: Mapped[dict[str, Any]] = mapped_column(default=dict)
