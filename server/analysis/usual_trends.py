"""Whether main series of runs rise or fall by more than they do usually: what a slow failure shows before its
single points leave their usual range.

Averages over more and more points are compared with each other, as each point arrives, for microseconds. As
with usual ranges, this decides only which runs are analyzed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from holter.detectors.robust_statistics import MAD_TO_SIGMA
from holter.roles import Role, role_of
from holter.types import Column, DenseColumns, FloatArray, Series, SeriesKey

_WORSE = {
    Role.LOSS: 1.0,
    Role.DATASET_LOSS: 1.0,
    Role.GRAD_NORM: 1.0,
    Role.KL: 1.0,
    Role.STEP_TIME: 1.0,
    Role.REWARD: -1.0,
    Role.THROUGHPUT: -1.0,
    Role.MFU: -1.0,
}
"""The direction in which a series gets worse, by its role."""
_MAX_SERIES = 16
"""Series of a run that are averaged: every commit pays for them."""
_MAX_RUNS = 10_000
_SPANS = np.array([8.0, 32.0, 128.0, 512.0])
"""Points that an average covers. They are weighted exponentially, so that a new point costs the same for all;
each is compared with the next."""
_WEIGHTS = 1 / _SPANS
_HISTORY = 4096
"""Latest points on which the usual differences of averages are measured."""
_FEWEST = 64
"""Points without which nothing is known of a series."""
_BEGIN = 16
"""First points whose differences do not count: the averages have just begun."""
_LATEST_SPANS = 8
_LATEST_SHARE = 4
"""Latest points whose differences do not count either, in spans of the longer average, at most one in four:
those of a trend stay unusual until detectors have seen enough of it."""
_NOISES = 1.0
"""Times its noise by which a difference must exceed the greatest usual one. Some 2 % of the points of healthy
runs do; all slow failures that were tried did when they were detected."""
_LEAST_NOISES = 2.0
"""Times its noise that counts as usual in any run: one that is younger than a few spans has not shown it."""
_NOISE_POINTS = 256
_ROUNDING = 1e-9
"""Share of the level by which a difference must exceed it in addition: averages of equal values differ."""
_CHUNK = 128
"""Points whose averages are computed at once: the shortest average forgets a value by 3e7 over so many."""
_LEARN_AFTER = 16
"""Points after which differences are measured again: it takes up to half a millisecond a series."""


def _noise_of_differences() -> FloatArray:
    """The standard deviation of each difference of two averages, for white noise of size 1."""
    short, long = _WEIGHTS[:-1], _WEIGHTS[1:]
    common = 2 * short * long / (short + long - short * long)
    noise: FloatArray = np.sqrt(short / (2 - short) + long / (2 - long) - common)
    return noise


_DIFFERENCE_NOISE = _noise_of_differences()


class _RunTrends:
    """The averages of a run's main series, signed so that worse is higher, and the limits of differences
    [series, spans - 1]. Averages are kept as sums of weighted values and sums of weights [series, spans]."""

    def __init__(self, series: Mapping[SeriesKey, Series]) -> None:
        self.points = _points_of(series)
        self.index = {key: row for row, key in enumerate(series)}
        self.sign = np.array([_WORSE[role] for key in series if (role := role_of(key)) is not None])
        with np.errstate(over="ignore", invalid="ignore"):  # of the greatest floats
            learned = [
                _learn(sign * each.value) for sign, each in zip(self.sign, series.values(), strict=True)
            ]
        self.sums = np.array([each.sums for each in learned])
        self.weights = np.array([each.weights for each in learned])
        self.limits = np.array([each.limits for each in learned])

    def is_current(self, series: Mapping[SeriesKey, Series]) -> bool:
        """Whether these series are the same with few points more."""
        added = _points_of(series) - self.points
        return 0 <= added < _LEARN_AFTER * len(series) and series.keys() == self.index.keys()

    def add(self, rows: Sequence[int], values: FloatArray) -> bool:
        """Add the next points [series, points] of some series; whether one of them gets worse unusually."""
        decay, weights = _step(values.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # of the greatest floats
            self.sums[rows] = self.sums[rows] * decay + (self.sign[rows, None] * values) @ weights
            self.weights[rows] = 1 - (1 - self.weights[rows]) * decay
            averages = self.sums[rows] / self.weights[rows]
            return bool((averages[:, :-1] - averages[:, 1:] > self.limits[rows]).any())


class UsualTrends:
    """The trends of each run. One thread passes new points, and one learns from the complete series."""

    def __init__(self) -> None:
        self._by_run: dict[int, _RunTrends] = {}

    def learn(self, run_id: int, series: Mapping[SeriesKey, Series]) -> None:
        """Measure the usual differences of a run's averages, once there are enough new points."""
        known = self._by_run.pop(run_id, None)
        keys = islice((key for key in series if _is_main(key) and len(series[key]) >= _FEWEST), _MAX_SERIES)
        main = {key: series[key] for key in keys}
        if main:
            self._by_run[run_id] = known if known is not None and known.is_current(main) else _RunTrends(main)
        while len(self._by_run) > _MAX_RUNS:
            del self._by_run[next(iter(self._by_run))]

    def add(self, run_id: int, columns: Sequence[Column]) -> bool:
        """Add new points; whether a series of the run gets worse by more than it does usually."""
        run = self._by_run.get(run_id)
        if run is None:
            return False
        by_length: dict[int, tuple[list[int], list[FloatArray]]] = {}
        for row, values in _values(columns, run):
            values = values[-_HISTORY:]
            if len(values) and np.isfinite(values).all():
                rows, group = by_length.setdefault(len(values), ([], []))
                rows.append(row)
                group.append(values)
        return any([run.add(rows, np.array(group)) for rows, group in by_length.values()])


def _is_main(key: SeriesKey) -> bool:
    return role_of(key) in _WORSE and key.rank is None


def _values(columns: Sequence[Column], run: _RunTrends) -> Iterator[tuple[int, FloatArray]]:
    """The row and the new values of each series whose averages are known."""
    if isinstance(columns, DenseColumns):  # a delivery may have thousands of series
        index = columns.layout.index
        yield from ((row, columns.values[index[key]]) for key, row in run.index.items() if key in index)
    else:
        known = ((run.index.get(column.key), column.values) for column in columns)
        yield from ((row, values) for row, values in known if row is not None)


def _points_of(series: Mapping[SeriesKey, Series]) -> int:
    return sum(map(len, series.values()))


@lru_cache(maxsize=64)
def _step(points: int) -> tuple[FloatArray, FloatArray]:
    """What so many points leave of the averages before [spans], and their own weights [points, spans]."""
    left = (1 - _WEIGHTS) ** np.arange(points - 1, -1, -1)[:, None]
    return (1 - _WEIGHTS) ** points, left * _WEIGHTS


class _Learned(NamedTuple):
    """The averages of a series at its end, as sums and weights [spans], and the limits of differences."""

    sums: FloatArray
    weights: FloatArray
    limits: FloatArray


def _weighted_sums(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums of a series [n] after each of its points [spans, n], and those of the weights.

    Their quotient is the mean of all points at first. An average that began at the first point would keep its
    noise for a whole span.
    """
    sums = np.empty((len(_SPANS), len(values)))
    left = (1 - _WEIGHTS[:, None]) ** np.arange(1, _CHUNK + 1)
    last = np.zeros(len(_SPANS))
    for first in range(0, len(values), _CHUNK):
        part = values[first : first + _CHUNK]
        power = left[:, : len(part)]
        summed = np.cumsum(_WEIGHTS[:, None] * part / power, axis=1)
        sums[:, first : first + _CHUNK] = power * (last[:, None] + summed)
        last = sums[:, first + len(part) - 1]
    return sums, 1 - (1 - _WEIGHTS[:, None]) ** np.arange(1, len(values) + 1)


def _learn(values: FloatArray) -> _Learned:
    values = values[-_HISTORY:]
    values = values[np.isfinite(values)]
    if len(values) < _FEWEST:
        return _Learned(np.zeros(len(_SPANS)), np.ones(len(_SPANS)), np.full(len(_SPANS) - 1, np.inf))
    sums, weights = _weighted_sums(values)
    averages = sums / weights
    differences = averages[:-1] - averages[1:]
    latest = np.minimum(_LATEST_SPANS * _SPANS[1:], len(values) // _LATEST_SHARE).astype(int)
    greatest = [
        float(row[_BEGIN : len(values) - left].max()) for row, left in zip(differences, latest, strict=True)
    ]
    # from point to point, so that a trend is no part of it
    noise = MAD_TO_SIGMA * float(np.median(np.abs(np.diff(values[-_NOISE_POINTS:])))) / 2**0.5
    rounding = _ROUNDING * float(np.abs(averages[:, -1]).max())
    usual = np.maximum(greatest, _LEAST_NOISES * noise * _DIFFERENCE_NOISE)
    return _Learned(sums[:, -1], weights[:, -1], usual + _NOISES * noise * _DIFFERENCE_NOISE + rounding)
