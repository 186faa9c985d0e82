"""Runs that clients of other trackers log: found and created by their names; notes on what is discarded."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import or_, select

from holter.ingest.rows import batch_from_rows
from holter.server.context import ServerContext
from holter.server.ingest_http.validate import MAX_LONG_NAME_LENGTH, MAX_NAME_LENGTH
from holter.server.models import Project, RunRecord
from holter.server.store.keys import storable_text
from holter.terminal_text import UNSAFE
from holter.types import NO_CONFIG, Batch, Config, Delivery, Unreadable

_CREATED = "created"
"""The batch id with which a run is created: the store accepts it once for each run."""
_NUMBER_LENGTH = 10
"""Characters that a number behind a name may take."""
_NUMBER_SUFFIX = re.compile(r"(?:-[1-9][0-9]*)?")


class InvalidNameError(ValueError):
    """A project or run cannot have this name."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run in the database. `id` is the internal id, `public_id` the one in addresses."""

    id: int
    public_id: str
    project: str
    name: str
    project_id: int
    created_at: float
    finished_at: float | None


RUN_COLUMNS = (
    RunRecord.id,
    RunRecord.public_id,
    Project.name.label("project"),
    RunRecord.name,
    RunRecord.project_id,
    RunRecord.created_at,
    RunRecord.finished_at,
)
"""The columns of a `TrackedRun`, in the order of its fields."""


class _RunLock:
    """A lock that can be referenced weakly."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class RunLocks:
    """One lock per run, while somebody uses it: requests about one run take turns."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[tuple[str, str], _RunLock] = WeakValueDictionary()

    @contextmanager
    def locked(self, project: str, run: str) -> Iterator[None]:
        """Lock a run for the duration of the block."""
        with self._guard:
            entry = self._locks.setdefault((project, run), _RunLock())
        with entry.lock:
            yield


RUN_LOCKS = RunLocks()


def find_run(context: ServerContext, project: str, name: str) -> TrackedRun | None:
    """A run by its project and name, None if there is none."""
    return next(iter(_runs(context, Project.name == project, RunRecord.name == name)), None)


def find_run_by_public_id(context: ServerContext, public_id: str) -> TrackedRun | None:
    """A run by its id in addresses, None if there is none."""
    return next(iter(_runs(context, RunRecord.public_id == public_id)), None)


def runs_of_projects(context: ServerContext, project_ids: Iterable[int]) -> list[TrackedRun]:
    """All runs of some projects, the newest first."""
    return _runs(context, RunRecord.project_id.in_(sorted(project_ids)))


def _runs(context: ServerContext, *condition: Any) -> list[TrackedRun]:
    query = select(*RUN_COLUMNS).join(Project).where(RunRecord.deleted_at.is_(None), *condition)
    with context.engine.connect() as connection:
        rows = connection.execute(query.order_by(RunRecord.created_at.desc(), RunRecord.id.desc())).all()
    return [TrackedRun(*row) for row in rows]


def open_run(context: ServerContext, tracker: str, project: str, name: str) -> TrackedRun:
    """The run of this name, created where it is new. Raises InvalidNameError, and the errors of the store.

    `tracker`: the name of the protocol, such as "wandb".
    """
    check_names(project, name)
    found = find_run(context, project, name)
    if found is None:
        context.store.accept(empty_delivery(tracker, project, name))
        found = find_run(context, project, name)
        assert found is not None
    return found


def create_run(context: ServerContext, tracker: str, project: str, name: str) -> TrackedRun:
    """A new run. Another run of the project with this name makes it `NAME-2`, `NAME-3` and so on.

    A name that is too long is cut. Raises InvalidNameError, and the errors of the store.
    """
    name = name[: MAX_LONG_NAME_LENGTH - _NUMBER_LENGTH]
    check_names(project, name)
    taken = _names_like(context, project, name)
    number = 1
    while True:
        unique = name if number == 1 else f"{name}-{number}"
        number += 1
        if unique in taken:
            continue
        created = context.store.accept(empty_delivery(tracker, project, unique, batch_id=_CREATED))
        if not created.duplicate:  # else another request has created it at the same time
            found = find_run(context, project, unique)
            assert found is not None
            return found


def _names_like(context: ServerContext, project: str, name: str) -> frozenset[str]:
    """The names of the project's runs that are this name, or begin with it and a number."""
    is_like = or_(RunRecord.name == name, RunRecord.name.startswith(f"{name}-", autoescape=True))
    query = select(RunRecord.name).join(Project).where(Project.name == project, is_like)
    with context.engine.connect() as connection:
        found = connection.scalars(query).all()
    return frozenset(
        each for each in found if each.startswith(name) and _NUMBER_SUFFIX.fullmatch(each, len(name))
    )


def check_names(project: str, name: str) -> None:
    """Raise InvalidNameError unless a project and a run can have these names."""
    check_project_name(project)
    _check("run", name, MAX_LONG_NAME_LENGTH)


def check_project_name(project: str) -> None:
    """Raise InvalidNameError unless a project can have this name."""
    _check("project", project, MAX_NAME_LENGTH)


def _check(what: str, text: str, limit: int) -> None:
    if not 0 < len(text) <= limit or UNSAFE.search(text) or storable_text(text) != text:
        expected = f"expected 1 to {limit} characters without control characters"
        raise InvalidNameError(f"{what} {text[:100]!r}: {expected}")


def tracker_delivery(
    tracker: str,
    project: str,
    name: str,
    batch: Batch,
    *,
    batch_id: str | None = None,
    finished: bool = False,
) -> Delivery:
    """A delivery of a tracker's client; without a `batch_id`, it is no repetition of another one."""
    return Delivery(
        project=project,
        run=name,
        writer=tracker,
        batch_id=batch_id or uuid4().hex,
        batch=batch,
        finished=finished,
    )


def empty_delivery(
    tracker: str,
    project: str,
    name: str,
    *,
    attempt: int | str | None = None,
    config: Config = NO_CONFIG,
    batch_id: str | None = None,
    finished: bool = False,
) -> Delivery:
    """A delivery without points."""
    batch = replace(batch_from_rows([], config=config), attempt=None if attempt is None else str(attempt))
    return tracker_delivery(tracker, project, name, batch, batch_id=batch_id, finished=finished)


def note_discarded(context: ServerContext, tracker: str, run: TrackedRun, location: str, reason: str) -> None:
    """Show on the run's page, once, that something was not stored. `location`: what, or where it was."""
    context.store.report_unreadable(
        Unreadable(
            source=f"{tracker}: {run.project}/{run.name}"[:1000],
            location=location,
            reason=reason,
            project=run.project,
            run=run.name,
        )
    )
