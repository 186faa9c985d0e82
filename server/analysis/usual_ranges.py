"""The usual ranges of the main series of runs: a first look at new points that costs microseconds.

It decides only which runs are analyzed first; what the detectors find does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from holter.roles import Role, role_of
from holter.types import Column, DenseColumns, FloatArray, IntArray, Series, SeriesKey, SeriesLayout

_ROLES = frozenset(
    {
        Role.LOSS,
        Role.DATASET_LOSS,
        Role.GRAD_NORM,
        Role.KL,
        Role.REWARD,
        Role.THROUGHPUT,
        Role.STEP_TIME,
        Role.LEARNING_RATE,
        Role.LOSS_SCALE,
    }
)
_RANK_ROLES = frozenset({Role.STEP_TIME, Role.COMPUTE_TIME, Role.COLLECTIVE_TIME})
"""Roles whose series of ranks have one range together: that of a straggler leaves it."""
_MAX_SERIES = 32
"""Series of a run that are looked at: every commit pays for them."""
_MAX_RANKS = 256
"""Ranks that the range of all is measured on."""
_MAX_FAULTS = 512
"""Series of faults that are looked at."""
_MAX_RUNS = 10_000
_LATEST = 64
_LATEST_SHARE = 4
"""Latest points that do not count, at most this many and one in four: those of a rise stay unusual until
detectors have seen enough of them."""
_POINTS = 64
"""Points before those, whose range is usual."""
_FEWEST = 16
"""Points without which nothing is known of a series."""

Range = tuple[float, float]


class _RunRanges(NamedTuple):
    """What is usual in a run: ranges by series, of all ranks by metric, the last values of fault series."""

    series: Mapping[SeriesKey, Range]
    ranks: Mapping[str, Range]
    faults: Mapping[SeriesKey, float]


class _LayoutRows(NamedTuple):
    """Where in dense columns the series of ranks are, by metric, and those of faults."""

    ranks: Mapping[str, IntArray]
    faults: Sequence[tuple[SeriesKey, int]]


class UsualRanges:
    """The ranges of each run as of the last pass over it. Any thread reads them, one writes them."""

    def __init__(self) -> None:
        self._by_run: dict[int, _RunRanges] = {}
        self._layouts: WeakKeyDictionary[SeriesLayout, _LayoutRows] = WeakKeyDictionary()

    def learn(self, run_id: int, series: Mapping[SeriesKey, Series]) -> None:
        """Measure the ranges of a run's series as they are now."""
        main = (key for key in series if role_of(key) in _ROLES and key.rank is None)
        ranges = ((key, _range([series[key].value])) for key in islice(main, _MAX_SERIES))
        by_metric = _rank_metrics(series)
        of_ranks = (
            (metric, _range([series[key].value for key in keys[:_MAX_RANKS]]))
            for metric, keys in by_metric.items()
        )
        faults = islice((key for key in series if role_of(key) is Role.FAULTS), _MAX_FAULTS)
        self._by_run.pop(run_id, None)
        self._by_run[run_id] = _RunRanges(
            series={key: known for key, known in ranges if known is not None},
            ranks={metric: known for metric, known in of_ranks if known is not None},
            faults={key: float(np.nan_to_num(series[key].value[-1])) for key in faults if len(series[key])},
        )
        while len(self._by_run) > _MAX_RUNS:
            del self._by_run[next(iter(self._by_run))]

    def knows(self, run_id: int) -> bool:
        """Whether there was a pass over a run."""
        return run_id in self._by_run

    def is_unusual(self, run_id: int, columns: Sequence[Column]) -> bool:
        """Whether a value is farther outside its usual range than the range is wide, or not finite, or a
        series of faults is new or has changed."""
        known = self._by_run.get(run_id)
        if known is None:
            return False
        dense = self._dense_values if isinstance(columns, DenseColumns) else _values
        return any(
            values.size and not (low <= values.min() and values.max() <= high)
            for values, (low, high) in dense(columns, known)
        )

    def _dense_values(
        self, columns: Sequence[Column], known: _RunRanges
    ) -> Iterator[tuple[FloatArray, Range]]:
        """As `_values`; a delivery may have thousands of series, which are not looked at one by one."""
        assert isinstance(columns, DenseColumns)
        index, values = columns.layout.index, columns.values
        yield from ((values[index[key]], limits) for key, limits in known.series.items() if key in index)
        rows = self._layouts.get(columns.layout)
        if rows is None:
            rows = self._layouts[columns.layout] = _rows_of(columns.layout)
        yield from (
            (values[rows.ranks[metric]], limits)
            for metric, limits in known.ranks.items()
            if metric in rows.ranks
        )
        yield from ((values[row], _fault_range(known, key)) for key, row in rows.faults)


def _values(columns: Iterable[Column], known: _RunRanges) -> Iterator[tuple[FloatArray, Range]]:
    """The values of the columns about whose usual range something is known, and that range."""
    for column in columns:
        key = column.key
        limits = known.series.get(key)
        if limits is None and known.ranks and key.rank is not None:
            limits = known.ranks.get(key.metric)
        if limits is None and role_of(key) is Role.FAULTS:
            limits = _fault_range(known, key)
        if limits is not None:
            yield column.values, limits


def _fault_range(known: _RunRanges, key: SeriesKey) -> Range:
    """The last value of a series of faults alone; of a new one none but zero."""
    last = known.faults.get(key, 0.0)
    return last, last


def _rows_of(layout: SeriesLayout) -> _LayoutRows:
    faults = ((key, row) for key, row in layout.index.items() if role_of(key) is Role.FAULTS)
    ranks = _rank_metrics(layout.keys).items()
    return _LayoutRows(
        ranks={metric: np.array([layout.index[key] for key in keys]) for metric, keys in ranks},
        faults=tuple(islice(faults, _MAX_FAULTS)),
    )


def _rank_metrics(keys: Iterable[SeriesKey]) -> dict[str, list[SeriesKey]]:
    """The series of ranks by metric, where ranks are compared."""
    by_metric: dict[str, list[SeriesKey]] = {}
    for key in keys:
        if key.rank is not None and role_of(key) in _RANK_ROLES:
            by_metric.setdefault(key.metric, []).append(key)
    return by_metric


def _range(series: Sequence[FloatArray]) -> Range | None:
    """The least and greatest usual value of all series; None where too little is known."""
    values = np.concatenate([_usual_part(values) for values in series])
    values = values[np.isfinite(values)]
    if len(values) < _FEWEST:
        return None
    low, high = float(values.min()), float(values.max())
    return low - (high - low), high + (high - low)


def _usual_part(values: FloatArray) -> FloatArray:
    latest = min(_LATEST, max(len(values) // _LATEST_SHARE, _FEWEST))
    return values[-_POINTS - latest : -latest]
