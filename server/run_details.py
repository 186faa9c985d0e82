"""What trackers and people say about a run beside its points: description, state, requests to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from holter.server.models import RunAttributeRow, RunDetailRow
from holter.server.store.write.sql import upsert


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDetails:
    """Descriptions and reported state of one run, as in `RunDetailRow`. Times are Unix seconds."""

    display_name: str | None = None
    notes: str | None = None
    tags: tuple[str, ...] = ()
    group_name: str | None = None
    job_type: str | None = None
    parent_run: str | None = None
    summary: str | None = None
    reported_state: str | None = None
    exit_code: int | None = None
    stop_requested_at: float | None = None
    stop_requested_by: str | None = None
    stop_reason: str | None = None
    stopped_at: float | None = None
    starred: bool = False

    @property
    def stop_pending(self) -> bool:
        """Whether somebody asked the run to stop, and it has not ended since."""
        return self.stop_requested_at is not None and self.stopped_at is None


NO_DETAILS = RunDetails()
_NAMES = tuple(field.name for field in fields(RunDetails))
TAG_ATTRIBUTE = "mlflow.tag."
"""Prefix of the attributes with a run's tags in MLflow, which have values."""
MAX_TAGS = 200
TAG_LENGTH = 200
_MAX_IDS = 10_000
"""Runs that one statement names: databases limit the parameters of a statement."""


class RunDetailStore:
    """Reads and updates the details and attributes of runs. `run_id` is the internal id."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._clock = clock

    def details(self, run_id: int) -> RunDetails:
        """The details of one run; those of an unknown run are empty."""
        return self.details_of([run_id]).get(run_id, NO_DETAILS)

    def details_of(self, run_ids: Iterable[int]) -> dict[int, RunDetails]:
        """The details of those runs that have any."""
        query = select(RunDetailRow.run_id, *(getattr(RunDetailRow, name) for name in _NAMES))
        found = {}
        with self._engine.connect() as connection:
            for ids in _parts(run_ids):
                for row in connection.execute(query.where(RunDetailRow.run_id.in_(ids))):
                    found[row.run_id] = _details(row._asdict())
        return found

    def update(self, run_id: int, **changes: Any) -> None:
        """Set some fields of `RunDetails`; the others stay. Raises TypeError for unknown fields."""
        if unknown := changes.keys() - set(_NAMES):
            raise TypeError(f"unknown details: {sorted(unknown)}")
        if "tags" in changes:
            changes["tags"] = list(changes["tags"])
        if changes:
            with self._engine.begin() as connection:
                _insert_or_update(connection, run_id, changes)

    def describe(
        self,
        run_id: int,
        *,
        tags: Sequence[str] | None = None,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        notes: str | None = None,
        group: str | None = None,
        starred: bool | None = None,
    ) -> None:
        """Change what people say about a run; None stays as it is, an empty text is removed.

        Tags are replaced by `tags`, then added and removed; tags of MLflow can only be removed.
        """
        changes: dict[str, Any] = {}
        if tags is not None or add_tags or remove_tags:
            before = self.details(run_id).tags if tags is None else tags
            removed = frozenset(remove_tags)
            present = dict.fromkeys((*before, *add_tags))
            changes["tags"] = [tag for tag in present if tag not in removed][:MAX_TAGS]
            if removed:
                named = self.attributes(run_id, TAG_ATTRIBUTE)
                texts = {name: tag_text(name, value) for name, value in named.items()}
                self.remove_attributes(run_id, [name for name, text in texts.items() if text in removed])
        changes |= {} if notes is None else {"notes": notes or None}
        changes |= {} if group is None else {"group_name": group or None}
        changes |= {} if starred is None else {"starred": starred}
        self.update(run_id, **changes)

    def request_stop(self, run_id: int, *, by: str | None = None, reason: str | None = None) -> None:
        """Ask the run's client to stop. A request that is pending already stays as it is."""
        if not self.details(run_id).stop_pending:
            self.update(
                run_id,
                stop_requested_at=self._clock(),
                stop_requested_by=by,
                stop_reason=reason,
                stopped_at=None,
            )

    def withdraw_stop(self, run_id: int) -> None:
        """Forget a request to stop, since the run was resumed or somebody changed their mind."""
        self.update(run_id, stop_requested_at=None, stop_requested_by=None, stop_reason=None, stopped_at=None)

    def attributes(self, run_id: int, prefix: str = "") -> dict[str, str]:
        """Named texts of a run whose names begin with `prefix`."""
        query = select(RunAttributeRow.name, RunAttributeRow.value)
        query = query.where(
            RunAttributeRow.run_id == run_id, RunAttributeRow.name.startswith(prefix, autoescape=True)
        )
        with self._engine.connect() as connection:
            return {row.name: row.value for row in connection.execute(query)}

    def attributes_of(self, run_ids: Iterable[int], prefix: str) -> dict[int, dict[str, str]]:
        """The named texts of those runs that have any whose names begin with `prefix`."""
        query = select(RunAttributeRow.run_id, RunAttributeRow.name, RunAttributeRow.value)
        query = query.where(RunAttributeRow.name.startswith(prefix, autoescape=True))
        found: dict[int, dict[str, str]] = {}
        with self._engine.connect() as connection:
            for ids in _parts(run_ids):
                for row in connection.execute(query.where(RunAttributeRow.run_id.in_(ids))):
                    found.setdefault(row.run_id, {})[row.name] = row.value
        return found

    def set_attributes(self, run_id: int, values: Mapping[str, str]) -> None:
        """Store named texts; the last one of a name stays."""
        rows = [{"run_id": run_id, "name": name, "value": value} for name, value in values.items()]
        with self._engine.begin() as connection:
            upsert(connection, RunAttributeRow.__table__, ("run_id", "name"), rows)
            if any(name.startswith(TAG_ATTRIBUTE) for name in values):
                _insert_or_update(connection, run_id, {})

    def remove_attributes(self, run_id: int, names: Iterable[str]) -> None:
        """Delete named texts; unknown names are no error."""
        removed = sorted(names)
        condition = (RunAttributeRow.run_id == run_id, RunAttributeRow.name.in_(removed))
        with self._engine.begin() as connection:
            connection.execute(delete(RunAttributeRow).where(*condition))
            if any(name.startswith(TAG_ATTRIBUTE) for name in removed):
                _insert_or_update(connection, run_id, {})


def tag_text(attribute: str, value: str) -> str:
    """A tag of MLflow, which has a value, as one text: `team=nlp`."""
    name = attribute.removeprefix(TAG_ATTRIBUTE)
    return f"{name}={value}"[:TAG_LENGTH] if value else name[:TAG_LENGTH]


def _parts(run_ids: Iterable[int]) -> Iterator[list[int]]:
    ids = sorted(run_ids)
    return (ids[start : start + _MAX_IDS] for start in range(0, len(ids), _MAX_IDS))


def _details(row: Mapping[str, Any]) -> RunDetails:
    return RunDetails(**{**{name: row[name] for name in _NAMES}, "tags": tuple(row["tags"])})


def _insert_or_update(connection: Connection, run_id: int, changes: dict[str, Any]) -> None:
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    new = {"run_id": run_id, "tags": [], "starred": False, "revision": 1, **changes}
    changed = {**changes, "revision": RunDetailRow.revision + 1}
    statement = dialect.insert(RunDetailRow).values(new)
    connection.execute(statement.on_conflict_do_update(index_elements=["run_id"], set_=changed))
