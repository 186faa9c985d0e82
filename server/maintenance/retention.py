"""Which runs are to be thinned or deleted now, by what is set for their projects."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, func, select

from holter.server.database import reading
from holter.server.maintenance.deletion import delete_run, purge
from holter.server.maintenance.downsampling import NOBODY_ELSE, thin
from holter.server.models import AnalysisRow, Attempt, DownsamplingRow, Project, RunRecord
from holter.server.store import CorruptDataError, StoreError
from holter.settings.projects import RetentionSettings

DAY = 86_400.0
LATE = 900.0
"""Seconds: points arrive as they are logged if the newest one was logged no longer than this before."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """A run whose time has come. `bucket` is None where it is to be deleted; `seen`: it was analysed.

    `old`: it goes on, and what it logged before (Unix seconds) is thinned.
    """

    run_id: int
    public_id: str
    project: str
    name: str
    bucket: int | None
    seen: bool
    old: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What was done to a run, or would be. Points are those of its chunks."""

    due: Due
    before: int = 0
    after: int = 0
    held_by: int | None = None
    problem: str = ""

    @property
    def said(self) -> str:
        """In words."""
        if self.problem or self.due.bucket is None:
            return self.problem or "deleted"
        kept = f"{self.after:,} of {self.before:,} points kept"
        if self.held_by is None:
            return kept
        return f"{kept}; all since incident {self.held_by} stays until that is over or closed"


def due(engine: Engine, settings: Callable[[str], RetentionSettings], now: float) -> list[Due]:
    """Runs that have had no news for longer than their project allows, and those that go on for longer,
    each of these once a day; those to be deleted first."""
    last = select(func.max(Attempt.last_time)).where(Attempt.run_id == RunRecord.id).scalar_subquery()
    columns = (
        *(
            RunRecord.id,
            RunRecord.public_id,
            RunRecord.name,
            RunRecord.created_at,
            RunRecord.updated_at,
            RunRecord.finished_at,
            RunRecord.revision,
        ),
        last.label("last_time"),
        *(Project.name.label("project"), AnalysisRow.seen_at, AnalysisRow.error),
        *(DownsamplingRow.revision.label("thinned"), DownsamplingRow.done_at),
    )
    query = (
        select(*columns)
        .join(Project, Project.id == RunRecord.project_id)
        .outerjoin(AnalysisRow, AnalysisRow.run_id == RunRecord.id)
        .outerjoin(DownsamplingRow, DownsamplingRow.run_id == RunRecord.id)
        .where(RunRecord.deleted_at.is_(None))
    )
    with reading(engine) as connection:
        rows = connection.execute(query.order_by(RunRecord.id)).all()
    found = []
    for row in rows:
        said = settings(row.project)
        days = (now - max(row.updated_at, row.finished_at or 0.0)) / DAY
        delete = 0 < said.delete_after_days < days
        thinned = row.thinned == row.revision and row.done_at is not None
        quiet = 0 < said.full_resolution_days < days and not thinned
        old = None if delete or quiet else _old(row, said, now)
        if delete or quiet or old is not None:
            found.append(
                Due(
                    run_id=row.id,
                    public_id=row.public_id,
                    project=row.project,
                    name=row.name,
                    bucket=None if delete else said.thin_to,
                    seen=row.error is None and (row.seen_at or 0.0) >= (old or row.updated_at),
                    old=old,
                )
            )
    return sorted(found, key=lambda one: one.bucket is not None)


def _old(row: Any, said: RetentionSettings, now: float) -> float | None:
    """Before when a run that goes on logged what is thinned now; None where it is not.

    Only its own clock tells the age of points: it must be right, as that of a run is whose points arrive as
    they are logged.
    """
    old = now - said.full_resolution_days * DAY
    if not said.full_resolution_days or row.updated_at < old or row.created_at > old:
        return None
    right = row.last_time is not None and abs(row.updated_at - row.last_time) <= LATE
    lately = row.done_at is not None and row.done_at > now - DAY
    return old if right and not lately and row.finished_at is None else None


def keep(
    engine: Engine,
    settings: Callable[[str], RetentionSettings],
    now: float,
    *,
    apply: bool = True,
    stopping: Callable[[], bool] = lambda: False,
    turn: AbstractContextManager[object] = NOBODY_ELSE,
) -> Iterator[Kept]:
    """Do what is due, run by run; `apply`: else say what would be done. A run that fails stops no other.

    `turn` is held while chunks are exchanged.
    """
    for one in due(engine, settings, now):
        if stopping():
            return
        try:
            yield _kept(engine, one, now, apply=apply, stopping=stopping, turn=turn)
        except (CorruptDataError, StoreError) as error:
            _logger.warning("run %s/%s stays as it is: %s", one.project, one.name, error)
            yield Kept(due=one, problem=str(error))


def _kept(
    engine: Engine,
    one: Due,
    now: float,
    *,
    apply: bool,
    stopping: Callable[[], bool],
    turn: AbstractContextManager[object],
) -> Kept:
    if one.bucket is None:
        if apply:
            delete_run(engine, one.run_id, now)
            purge(engine)
        return Kept(due=one)
    if not one.seen:
        # what detection has not seen at full resolution it will never see
        return Kept(due=one, problem="not thinned: nobody has analysed all of it yet")
    done = thin(engine, one.run_id, one.bucket, now, old=one.old, apply=apply, stopping=stopping, turn=turn)
    return Kept(due=one, before=done.before, after=done.after, held_by=done.held_by)
