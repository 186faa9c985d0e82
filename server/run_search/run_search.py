"""Searches runs for the overview and the REST interface: filter, order, columns, pages, changes."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from holter.json_values import number
from holter.server.read_models.runs import RunReader
from holter.server.run_search.completion import FilterCompletion
from holter.server.run_search.conditions import CONFIG_PREFIX, FUNCTION, RunFilter
from holter.server.run_search.config_columns import ConfigColumns, value_of
from holter.server.run_search.metric_columns import MetricColumns, Statistic
from holter.server.run_search.ordering import RunOrder
from holter.server.run_search.run_index import IndexedRun, IndexSnapshot, RunIndex
from holter.server.run_sections import SECTIONS
from holter.server.schemas.run_search import ColumnList, CompletionList
from holter.server.schemas.runs import ColumnValue, RunCounts, RunInfo, RunList, RunState
from holter.server.store import Store, StoreClosedError, StoreError
from holter.server.store.cache import LruCache
from holter.types import SeriesKey

_logger = logging.getLogger(__name__)

MAX_COLUMNS = 50
MAX_LISTED_COLUMNS = 2000
MEAN_POINTS = 100
"""Newest points of which a mean is taken."""
_CACHED_SEARCHES = 16
_CLOSE_SECONDS = 0.5
_SECONDS_OF_AGES = 5
"""A cached search with ages (`updated<2h`) is repeated after so long."""
_MEAN_BYTES = 200
_MEAN_CACHE_BYTES = 2 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    """What is asked: a filter, an order, columns, and a page of runs; `limit` None: all runs.

    `project`, `state` and `name_part` are further conditions. `since` is the version of an earlier answer.
    """

    filter: str = ""
    sort: str | None = None
    columns: tuple[str, ...] = ()
    offset: int = 0
    limit: int | None = None
    since: str | None = None
    project: str | None = None
    state: RunState | None = None
    name_part: str | None = None


_FIRST_PAGE = RunQuery(sort="attention", limit=100)
"""What the overview asks for at first."""


class _Search(NamedTuple):
    """The runs that a query finds, in order, as of a revision of the index."""

    snapshot: IndexSnapshot
    runs: list[IndexedRun]
    notices: list[str]


class RunSearch:
    """Searches runs. Threads may share it. `max_age`: seconds for which other processes' changes may miss."""

    def __init__(
        self,
        engine: Engine,
        store: Store,
        reader: RunReader,
        *,
        clock: Callable[[], float] = time.time,
        max_age: float = 0.0,
    ) -> None:
        self.index = RunIndex(engine, clock=clock, max_age=max_age)
        self._store = store
        self._reader = reader
        self._clock = clock
        self._config = ConfigColumns(engine)
        self._metrics = MetricColumns(store)
        self._filter = RunFilter(self._config, self._metrics)
        self._order = RunOrder(self._config, self._metrics)
        self._completion = FilterCompletion(self._config, self._metrics)
        self._lock = threading.Lock()
        self._searches: OrderedDict[tuple[object, ...], _Search] = OrderedDict()
        self._means = LruCache(_MEAN_CACHE_BYTES)
        self._first_reading = threading.Thread(target=self._read_index, name="run index", daemon=True)

    def start(self) -> None:
        """Read the index and the first page in a thread: the first question need not wait for all of it."""
        self._first_reading.start()

    def close(self) -> None:
        """Wait for that thread, not for long: it only reads."""
        if self._first_reading.ident is not None:
            self._first_reading.join(_CLOSE_SECONDS)

    def runs(self, query: RunQuery) -> RunList:
        """One page of the runs that a query finds. Raises FilterError, UnknownOrderError."""
        snapshot = self.index.snapshot(fresh=query.limit is None)
        search = self._search(query, snapshot)
        end = len(search.runs) if query.limit is None else query.offset + query.limit
        page = search.runs[query.offset : end]
        known = self._revision(query.since, snapshot)
        changed = [run for run in page if run.changed > known]
        infos = self._infos(changed, query.columns, snapshot)
        if self._note_damage(changed, infos):
            return self.runs(query)  # counts and sections have changed
        return {
            "runs": list(infos.values()),
            "order": None if query.since is None else [run.public_id for run in page],
            "counts": _counts(search),
            "next": str(end) if end < len(search.runs) else None,
            "version": f"{snapshot.instance}-{snapshot.revision}",
            "notices": search.notices,
        }

    def find(self, filter_text: str) -> list[IndexedRun]:
        """All runs that a filter finds, the newest first. Raises FilterError."""
        return self._search(RunQuery(filter=filter_text), self.index.snapshot(fresh=True)).runs

    def complete(self, text: str, at: int) -> CompletionList:
        """What can stand at a position of a filter."""
        return self._completion.complete(text, at, self.index.snapshot())

    def columns(self, part: str) -> ColumnList:
        """Settings and metrics whose names contain a text."""
        snapshot = self.index.snapshot()
        part = part.lower()
        settings = [name for name in self._config.names(snapshot) if part in name.lower()]
        metrics = [name for name in self._completion.metric_names(snapshot) if part in name.lower()]
        return {"settings": settings[:MAX_LISTED_COLUMNS], "metrics": metrics[:MAX_LISTED_COLUMNS]}

    def _read_index(self) -> None:
        try:
            self.index.snapshot()
            self.runs(_FIRST_PAGE)
        except StoreClosedError:
            pass  # the server stops already
        except (SQLAlchemyError, StoreError):  # the first question tries again, and reports it
            _logger.warning("the index of runs could not be read; the first question will", exc_info=True)

    def _search(self, query: RunQuery, snapshot: IndexSnapshot) -> _Search:
        now = self._clock()
        conditions = (query.filter, query.sort, query.project, query.state, query.name_part)
        key = (*conditions, snapshot.revision, int(now // _SECONDS_OF_AGES))
        with self._lock:
            if (cached := self._searches.get(key)) is not None:
                self._searches.move_to_end(key)
                return cached
        found = self._filter.find(query.filter, snapshot, now)
        runs = [run for run in found.runs if _matches(run, query)]
        if query.sort:
            runs = self._order.sort(runs, query.sort, snapshot)
        search = _Search(snapshot, runs, found.notices)
        with self._lock:
            self._searches[key] = search
            while len(self._searches) > _CACHED_SEARCHES:
                self._searches.popitem(last=False)
        return search

    def _revision(self, since: str | None, snapshot: IndexSnapshot) -> int:
        """The revision that an asker has seen, -1 where it has seen none of this server's."""
        instance, _, revision = (since or "").rpartition("-")
        known = instance == snapshot.instance and revision.isdecimal()
        return int(revision) if known and len(revision) < 18 else -1

    def _infos(
        self, runs: Sequence[IndexedRun], columns: Sequence[str], snapshot: IndexSnapshot
    ) -> dict[int, RunInfo]:
        """The runs that still exist, in their order."""
        found = self._reader.infos([run.id for run in runs])
        infos = {run.id: found[run.id] for run in runs if run.id in found}
        for run in runs:
            if run.id in infos:
                infos[run.id]["tags"] = list(run.tags)
        for column in columns:
            values = self._column(column, runs, snapshot)
            for run_id, info in infos.items():
                info["values"][column] = values.get(run_id)
        return infos

    def _note_damage(self, runs: Sequence[IndexedRun], infos: Mapping[int, RunInfo]) -> bool:
        """Whether reading the runs found damage that was not known, or that is gone."""
        states = [(run.id, infos[run.id]["damaged"] is not None) for run in runs if run.id in infos]
        return any([self.index.set_damaged(run_id, damaged) for run_id, damaged in states])

    def _column(
        self, column: str, runs: Sequence[IndexedRun], snapshot: IndexSnapshot
    ) -> dict[int, ColumnValue]:
        """The values of a setting or of a function of a metric by run; empty where there is no such thing."""
        if function := FUNCTION.fullmatch(column):
            statistic = Statistic(function[1])
            if statistic is Statistic.MEAN:
                return {run.id: self._mean(run, function[2]) for run in runs}
            values = self._metrics.values(function[2], statistic, runs)
            return {run_id: number(value) for run_id, value in values.items()}
        names = self._config.called(column.removeprefix(CONFIG_PREFIX), snapshot)
        columns = list(self._config.columns(names, snapshot).values())
        return {run.id: value_of(run, columns) for run in runs}

    def _mean(self, run: IndexedRun, metric: str) -> ColumnValue:
        """The mean of the newest points of a metric; None without any."""
        key = (run.id, metric)
        cached = self._means.get(key)
        if cached is not None and cached[0] == run.version.revision:
            mean: ColumnValue = cached[1]
            return mean
        mean = self._read_mean(run.id, metric)
        self._means.put(key, (run.version.revision, mean), _MEAN_BYTES)
        return mean

    def _read_mean(self, run_id: int, metric: str) -> ColumnValue:
        series = SeriesKey(metric)
        summary = next((each for each in self._store.series(run_id) if each.key == series), None)
        if summary is None:
            return None
        steps_per_point = (summary.last_step - summary.first_step + 1) / max(1, summary.points)
        first = summary.last_step - int(2 * MEAN_POINTS * max(1.0, steps_per_point))
        points = self._store.read(run_id, [series], from_step=first).get(series)
        if points is None or not len(points):
            return None
        newest = points.value[points.attempt == points.attempt[-1]][-MEAN_POINTS:]
        finite = newest[np.isfinite(newest)]
        return number(float(finite.mean())) if len(finite) else None


def _matches(run: IndexedRun, query: RunQuery) -> bool:
    return (
        (query.project is None or run.project == query.project)
        and (query.state is None or run.state == query.state)
        and (query.name_part is None or query.name_part.lower() in f"{run.project}/{run.name}".lower())
    )


def _counts(search: _Search) -> RunCounts:
    states = Counter(run.state for run in search.runs)
    sections = Counter(run.section for run in search.runs)
    return {
        "all": len(search.snapshot.runs),
        "found": len(search.runs),
        "running": states["running"],
        "stalled": states["stalled"],
        "sections": {section: sections[section] for section in SECTIONS},
    }
