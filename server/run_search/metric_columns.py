"""Newest value and extremes of metrics of all runs, read when a filter, an order or a column needs them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from enum import StrEnum
from math import inf
from typing import NamedTuple

import numpy as np
from sqlalchemy.exc import DatabaseError

from holter.roles import Role, role_of
from holter.server.run_search.run_index import IndexedRun
from holter.server.store import CorruptDataError, SeriesRange, Store
from holter.types import FloatArray, IntArray, SeriesKey

_RUNS_AT_ONCE = 500
_PREFIXES = ("", "train/", "train_", "training/")
"""A metric `loss` is also meant by runs that call it `train/loss`."""
_HIGHER_IS_BETTER = frozenset({Role.THROUGHPUT, Role.MFU, Role.ACCURACY, Role.REWARD})
SUGGESTED_RUNS = 200
"""The newest runs, whose metrics are suggested."""


class Statistic(StrEnum):
    """What is taken of a metric: `best` is the highest value where higher is better, else the lowest."""

    LAST = "last"
    BEST = "best"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"


class _RunMetrics(NamedTuple):
    """The metrics of one run by ascending code, arrays [m]."""

    version: tuple[int, int]
    codes: IntArray
    last: FloatArray
    low: FloatArray
    high: FloatArray


class MetricColumns:
    """Reads and caches the metrics of runs, 32 bytes for each. Threads may share it.

    Of a metric with labels, the series without labels counts, else the first one.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._runs: dict[int, _RunMetrics] = {}
        self._codes: dict[str, int] = {}

    def names(self, runs: Sequence[IndexedRun]) -> list[str]:
        """The metrics of these runs and of those that were read before, sorted."""
        with self._lock:
            self._update(runs)
            return sorted(self._codes)

    def values(self, metric: str, statistic: Statistic, runs: Collection[IndexedRun]) -> dict[int, float]:
        """A statistic of a metric by the id of the run, of those runs that have a value."""
        with self._lock:
            self._update(runs)
            codes = [self._codes[name] for prefix in _PREFIXES if (name := prefix + metric) in self._codes]
            chosen = _column_of(metric, statistic)
            values = {}
            for run in runs:
                metrics = self._runs.get(run.id)
                value = None if metrics is None else _value(metrics, codes, chosen)
                if value is not None:
                    values[run.id] = value
            return values

    def _update(self, runs: Collection[IndexedRun]) -> None:
        changed = [run for run in runs if not self._is_current(run)]
        for start in range(0, len(changed), _RUNS_AT_ONCE):
            part = changed[start : start + _RUNS_AT_ONCE]
            ranges = self._read([run.id for run in part])
            for run in part:
                self._runs[run.id] = self._metrics(run, ranges.get(run.id, []))

    def _read(self, run_ids: Sequence[int]) -> dict[int, list[SeriesRange]]:
        try:
            return self._store.series_ranges(run_ids)
        except (CorruptDataError, DatabaseError):
            if len(run_ids) == 1:
                return {}  # the overview names the damage
        return {number: ranges for run_id in run_ids for number, ranges in self._read([run_id]).items()}

    def _is_current(self, run: IndexedRun) -> bool:
        metrics = self._runs.get(run.id)
        return metrics is not None and metrics.version == (run.version.generation, run.version.revision)

    def _metrics(self, run: IndexedRun, ranges: Sequence[SeriesRange]) -> _RunMetrics:
        first: dict[int, SeriesRange] = {}
        for each in ranges:
            first.setdefault(self._codes.setdefault(str(each.key.metric), len(self._codes)), each)
        codes = sorted(first)
        columns = ([getattr(first[code], name) for code in codes] for name in SeriesRange._fields[1:])
        last, low, high = (np.array(column, dtype=np.float64) for column in columns)
        version = run.version.generation, run.version.revision
        return _RunMetrics(version, np.array(codes, dtype=np.int64), last, low, high)


def _column_of(metric: str, statistic: Statistic) -> str:
    if statistic is Statistic.BEST:
        return "high" if role_of(SeriesKey(metric)) in _HIGHER_IS_BETTER else "low"
    return {Statistic.LAST: "last", Statistic.MIN: "low", Statistic.MAX: "high"}[statistic]


def _value(metrics: _RunMetrics, codes: Sequence[int], column: str) -> float | None:
    for code in codes:
        index = int(np.searchsorted(metrics.codes, code))
        if index < len(metrics.codes) and metrics.codes[index] == code:
            value = float(getattr(metrics, column)[index])
            return None if column != "last" and abs(value) == inf else value
    return None
