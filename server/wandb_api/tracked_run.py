"""Runs as the protocol names them: found or created by project and id, with the state of the protocol."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from sqlalchemy import select

from holter.ingest.rows import batch_from_rows
from holter.server.context import ServerContext
from holter.server.ingest_http.validate import MAX_LONG_NAME_LENGTH, MAX_NAME_LENGTH
from holter.server.models import Project, RunRecord
from holter.server.store.keys import storable_text
from holter.server.wandb_api.stream_state import STATE_ATTRIBUTE, StreamState
from holter.terminal_text import UNSAFE
from holter.types import NO_CONFIG, Config, Delivery, Unreadable

DEFAULT_ENTITY = "local"
DEFAULT_PROJECT = "uncategorized"
CONFIG_ATTRIBUTE = "wandb.config"
WRITER = "wandb"


class InvalidNameError(ValueError):
    """A project or run cannot have this name."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run in the database. `id` is the internal id, `public_id` the one in addresses."""

    id: int
    public_id: str
    project: str
    name: str


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
    def held(self, project: str, run: str) -> Iterator[None]:
        """Hold the lock of a run for the duration of the block."""
        with self._guard:
            entry = self._locks.setdefault((project, run), _RunLock())
        with entry.lock:
            yield


RUN_LOCKS = RunLocks()


def find_run(context: ServerContext, project: str, name: str) -> TrackedRun | None:
    """A run by its project and the id that its client gave it, None if there is none."""
    return _find(context, Project.name == project, RunRecord.name == name)


def find_run_by_public_id(context: ServerContext, public_id: str) -> TrackedRun | None:
    """A run by its id in addresses, None if there is none."""
    return _find(context, RunRecord.public_id == public_id)


def _find(context: ServerContext, *condition: Any) -> TrackedRun | None:
    columns = (RunRecord.id, RunRecord.public_id, Project.name, RunRecord.name)
    query = select(*columns).join(Project).where(RunRecord.deleted_at.is_(None), *condition)
    with context.engine.connect() as connection:
        row = connection.execute(query).one_or_none()
    return None if row is None else TrackedRun(*row)


def open_run(context: ServerContext, project: str, name: str) -> TrackedRun:
    """The run, created where it is new. Raises InvalidNameError, and the errors of the store."""
    check_names(project, name)
    found = find_run(context, project, name)
    if found is not None:
        return found
    receipt = context.store.accept(empty_delivery(project, name))
    return TrackedRun(receipt.run_id, receipt.public_id, project, name)


def check_names(project: str, name: str) -> None:
    """Raise InvalidNameError unless a project and a run can have these names."""
    for what, text, limit in (("project", project, MAX_NAME_LENGTH), ("run", name, MAX_LONG_NAME_LENGTH)):
        if not 0 < len(text) <= limit or UNSAFE.search(text) or storable_text(text) != text:
            raise InvalidNameError(f"{what}: expected 1 to {limit} characters without control characters")


def empty_delivery(
    project: str, name: str, *, attempt: int | None = None, config: Config = NO_CONFIG, finished: bool = False
) -> Delivery:
    """A delivery without points."""
    batch = replace(batch_from_rows([], config=config), attempt=None if attempt is None else str(attempt))
    return Delivery(
        project=project, run=name, writer=WRITER, batch_id=uuid4().hex, batch=batch, finished=finished
    )


def read_state(context: ServerContext, run: TrackedRun) -> tuple[StreamState, Mapping[str, str]]:
    """The state of the protocol, and all attributes of the protocol."""
    attributes = context.run_details.attributes(run.id, "wandb.")
    return StreamState.from_json(attributes.get(STATE_ATTRIBUTE)), attributes


def write_state(
    context: ServerContext, run: TrackedRun, state: StreamState, more: Mapping[str, str] | None = None
) -> None:
    """Store the state, and further attributes."""
    context.run_details.set_attributes(run.id, {STATE_ATTRIBUTE: state.to_json(), **(more or {})})


def add_note(context: ServerContext, run: TrackedRun, location: str, reason: str) -> None:
    """Show on the run's page, once, that something was not stored."""
    context.store.report_unreadable(
        Unreadable(
            source=f"wandb: {run.project}/{run.name}"[:1000],
            location=location,
            reason=f"{location}: {reason}",
            project=run.project,
            run=run.name,
        )
    )
