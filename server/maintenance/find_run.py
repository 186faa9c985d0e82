"""Which run people mean by an id, a name, or PROJECT/NAME."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, select

from holter.server.database import reading
from holter.server.models import Project, RunRecord


class WhichRunError(ValueError):
    """No run, or several, are called that."""


@dataclass(frozen=True, slots=True)
class Named:
    """A run as people name it."""

    id: int
    public_id: str
    project: str
    name: str

    def __str__(self) -> str:
        return f"{self.public_id}  {self.project}/{self.name}"


def named(engine: Engine, wanted: str) -> Named:
    """The one run that is meant. Raises WhichRunError."""
    query = select(RunRecord.id, RunRecord.public_id, Project.name, RunRecord.name).join(
        Project, Project.id == RunRecord.project_id
    )
    with reading(engine) as connection:
        runs = [Named(*row) for row in connection.execute(query.where(RunRecord.deleted_at.is_(None)))]
    found = [one for one in runs if wanted in {one.public_id, one.name, f"{one.project}/{one.name}"}]
    if len(found) == 1:
        return found[0]
    if not found:
        raise WhichRunError(f"there is no run {wanted!r}")
    which = "\n  ".join([f"{wanted!r} names {len(found)} runs, say which by its id:", *map(str, found)])
    raise WhichRunError(which)
