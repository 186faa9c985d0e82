"""Saved views of the overview: a named filter with its order and columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from holter.server.database import writing
from holter.server.models import SavedViewRow
from holter.server.schemas.run_search import SavedView

MAX_VIEWS = 1000


class UnknownViewError(LookupError):
    """There is no view with this id."""


class ViewNameError(ValueError):
    """Another view has this name, or there are too many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewContent:
    """What a view consists of, as its author chose it."""

    name: str
    project: str = ""
    filter: str = ""
    sort: str = ""
    columns: Sequence[str] = ()
    is_default: bool = False


class SavedViews:
    """The saved views in the database."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    def all(self) -> list[SavedView]:
        """All views by name."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(SavedViewRow.__table__).order_by(SavedViewRow.name)).all()
        return [_view(row) for row in rows]

    def one(self, view_id: int) -> SavedView:
        """One view. Raises UnknownViewError."""
        for view in self.all():
            if view["id"] == view_id:
                return view
        raise UnknownViewError(f"There is no view {view_id}.")

    def add(self, content: ViewContent, *, by: str | None) -> SavedView:
        """Save a new view. Raises ViewNameError."""
        if len(self.all()) >= MAX_VIEWS:
            raise ViewNameError(f"there are {MAX_VIEWS} views already: delete one first")
        values = {**_values(content), "created_at": self._clock(), "created_by": by}
        view_id = self._write(content, insert(SavedViewRow).values(values).returning(SavedViewRow.id))
        return self.one(view_id)

    def replace(self, view_id: int, content: ViewContent) -> SavedView:
        """Change a view. Raises UnknownViewError, ViewNameError."""
        self.one(view_id)
        statement = update(SavedViewRow).where(SavedViewRow.id == view_id).values(_values(content))
        self._write(content, statement.returning(SavedViewRow.id))
        return self.one(view_id)

    def remove(self, view_id: int) -> None:
        """Delete a view. Raises UnknownViewError."""
        self.one(view_id)
        with writing(self._engine) as connection:
            connection.execute(delete(SavedViewRow).where(SavedViewRow.id == view_id))

    def _write(self, content: ViewContent, statement: Any) -> int:
        try:
            with writing(self._engine) as connection:
                if content.is_default:
                    _clear_default(connection, content.project)
                return int(connection.scalar(statement) or 0)
        except IntegrityError as error:
            raise ViewNameError(f"another view is called {content.name!r}") from error


def _clear_default(connection: Connection, project: str) -> None:
    condition = SavedViewRow.project == project
    connection.execute(update(SavedViewRow).where(condition).values(is_default=False))


def _values(content: ViewContent) -> dict[str, Any]:
    query = {"filter": content.filter, "sort": content.sort, "columns": list(content.columns)}
    return {
        "name": content.name,
        "project": content.project,
        "query": query,
        "is_default": content.is_default,
    }


def _view(row: Any) -> SavedView:
    return {
        "id": row.id,
        "name": row.name,
        "project": row.project,
        "filter": row.query["filter"],
        "sort": row.query["sort"],
        "columns": row.query["columns"],
        "is_default": row.is_default,
        "created_at": row.created_at,
        "created_by": row.created_by,
    }
