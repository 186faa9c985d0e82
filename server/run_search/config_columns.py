"""Settings of all runs by name, read from the database when a filter, order or column first needs them."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine, Text, cast, func, select

from holter.config_keys import common_name, is_called
from holter.server.database import reading
from holter.server.models import ConfigRow
from holter.server.run_search.run_index import IndexedRun, IndexSnapshot
from holter.types import ConfigValue

MAX_COLUMNS = 400
"""Settings whose values of all runs are cached: about 100 bytes for each value."""
MAX_NAMES = 20_000
"""Different names of settings that are searched."""
_MAX_IDS = 500
_NO_LABELS = "[]"

ConfigColumn = Mapping[int, ConfigValue]
"""The newest value of one setting by the id of the run."""


@dataclass(slots=True)
class _Column:
    """A cached column; `stated` is the version of the configuration of each run that was read."""

    values: dict[int, ConfigValue] = field(default_factory=dict)
    revision: int = -1
    stated: dict[int, int] = field(default_factory=dict)


class ConfigColumns:
    """Reads and caches the settings of the job of all runs. Threads may share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._names: list[str] = []
        self._names_of = ("", -1)

    def names(self, snapshot: IndexSnapshot) -> list[str]:
        """The names of all settings that a run has, sorted."""
        with self._lock:
            version = (snapshot.instance, sum(run.version.stated for run in snapshot.runs))
            if self._names_of != version:
                with reading(self._engine) as connection:
                    self._names = _distinct_names(connection)
                self._names_of = version
            return self._names

    def called(self, wanted: str, snapshot: IndexSnapshot) -> list[str]:
        """The settings that `wanted` means: one of exactly this name, else all that it is another name of."""
        names = self.names(snapshot)
        if "." in wanted and wanted in names:
            return [wanted]
        return [name for name in names if is_called(name, wanted)]

    def column(self, name: str, snapshot: IndexSnapshot) -> ConfigColumn:
        """The newest value of a setting of each run that has it, by the run's id."""
        return self.columns([name], snapshot)[name]

    def columns(self, names: Collection[str], snapshot: IndexSnapshot) -> dict[str, ConfigColumn]:
        """The same of several settings, in one statement."""
        with self._lock:
            columns = {name: self._columns.setdefault(name, _Column()) for name in names}
            stale = [name for name, column in columns.items() if column.revision != snapshot.revision]
            if stale:
                self._update({name: columns[name] for name in stale}, snapshot)
            for name in names:
                self._columns.move_to_end(name)
            while len(self._columns) > MAX_COLUMNS:
                self._columns.popitem(last=False)
            return {name: column.values for name, column in columns.items()}

    def _update(self, columns: Mapping[str, _Column], snapshot: IndexSnapshot) -> None:
        changed = {
            run.id
            for run in snapshot.runs
            for column in columns.values()
            if column.stated.get(run.id) != run.version.stated
        }
        read: dict[str, dict[int, ConfigValue]] = {name: {} for name in columns}
        if changed:
            with reading(self._engine) as connection:
                for name, run_id, value in _query(connection, list(columns), changed):
                    read[name][run_id] = value
        stated = {run.id: run.version.stated for run in snapshot.runs}
        for name, column in columns.items():
            unchanged = {
                run: value for run, value in column.values.items() if run in stated and run not in changed
            }
            column.values = unchanged | read[name]
            column.stated = stated
            column.revision = snapshot.revision


def value_of(run: IndexedRun, columns: Iterable[ConfigColumn]) -> ConfigValue | None:
    """The value of a run in the first of these columns that has one."""
    for column in columns:
        if run.id in column:
            return column[run.id]
    return None


def settings_by_common_name(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of settings by their common name."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(common_name(name), []).append(name)
    return groups


def _query(
    connection: Connection, names: Sequence[str], run_ids: Collection[int]
) -> Iterator[tuple[str, int, ConfigValue]]:
    """Values of settings, those of later attempts of a run last."""
    # one row for each setting: a row for each value is many thousand objects, which are slow to create
    columns = (ConfigRow.run_id, ConfigRow.attempt, ConfigRow.value)
    lists = [func.aggregate_strings(cast(column, Text), ",") for column in columns]
    query = select(ConfigRow.name, *lists).where(ConfigRow.name.in_(names), ConfigRow.labels == _NO_LABELS)
    if len(run_ids) <= _MAX_IDS:
        query = query.where(ConfigRow.run_id.in_(sorted(run_ids)))
    for name, *texts in connection.execute(query.group_by(ConfigRow.name)):
        of_runs, attempts, values = (json.loads(f"[{text}]") for text in texts)
        for place in sorted(range(len(values)), key=attempts.__getitem__):
            if of_runs[place] in run_ids:
                yield name, of_runs[place], values[place]


def _distinct_names(connection: Connection) -> list[str]:
    """The names in the index, each found by one seek: thousands of runs share them."""
    first = select(func.min(ConfigRow.name).label("name")).cte("names", recursive=True)
    following = select(func.min(ConfigRow.name)).where(ConfigRow.name > first.c.name).scalar_subquery()
    names = first.union_all(select(following.label("name")).where(first.c.name.is_not(None)))
    query = select(names.c.name).where(names.c.name.is_not(None)).limit(MAX_NAMES)
    return sorted(connection.scalars(query))
