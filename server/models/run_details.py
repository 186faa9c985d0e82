"""Tables of what trackers report about a run beside its points."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from holter.server.models.base import Base


class RunDetailRow(Base):
    """Descriptions and reported state of one run; a run without any has no row.

    `parent_run` is the name of another run of the project, `summary` a JSON object as text,
    `reported_state` the state that the tracker's client reported last. `stopped_at` is when the client
    ended after `stop_requested_at`. `revision` counts the changes of the row and of the run's tags.
    """

    __tablename__ = "run_detail"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    display_name: Mapped[str | None] = mapped_column(String(500))
    notes: Mapped[str | None] = mapped_column(Text)
    tags: Mapped[list[Any]] = mapped_column(default=list)
    group_name: Mapped[str | None] = mapped_column(String(500))
    job_type: Mapped[str | None] = mapped_column(String(500))
    parent_run: Mapped[str | None] = mapped_column(String(500))
    summary: Mapped[str | None] = mapped_column(Text)
    reported_state: Mapped[str | None] = mapped_column(String(20))
    exit_code: Mapped[int | None]
    stop_requested_at: Mapped[float | None]
    stop_requested_by: Mapped[str | None] = mapped_column(String(200))
    stop_reason: Mapped[str | None] = mapped_column(Text)
    stopped_at: Mapped[float | None]
    starred: Mapped[bool] = mapped_column(default=False, server_default=false())
    revision: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")


class RunAttributeRow(Base):
    """One named text of a run, such as an mlflow tag (`mlflow.tag.NAME`) or state of a tracker's protocol."""

    __tablename__ = "run_attribute"
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id"), primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(300), primary_key=True)
    value: Mapped[str] = mapped_column(Text)
