"""Finds a run by id, name, or PROJECT/NAME."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select

from holter.server.database import reading
from holter.server.models import Project, RunRecord


class RunLookupError(ValueError):
    """No run, or several runs, have this name."""


@dataclass(frozen=True, slots=True)
class RunReference:
    """A run with the names by which people refer to it."""

    id: int
    public_id: str
    project: str
    name: str

    def __str__(self) -> str:
        return f"{self.public_id}  {self.project}/{self.name}"


def find_run(engine: Engine, name: str) -> RunReference:
    """Return the run with this id, name or PROJECT/NAME. Raises RunLookupError."""
    query = select(RunRecord.id, RunRecord.public_id, Project.name, RunRecord.name).join(
        Project, Project.id == RunRecord.project_id
    )
    with reading(engine) as connection:
        runs = [RunReference(*row) for row in connection.execute(query.where(RunRecord.deleted_at.is_(None)))]
    matches = [run for run in runs if name in {run.public_id, run.name, f"{run.project}/{run.name}"}]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise RunLookupError(f"there is no run {name!r}")
    message = "\n  ".join([f"{name!r} names {len(matches)} runs, say which by its id:", *map(str, matches)])
    raise RunLookupError(message)
