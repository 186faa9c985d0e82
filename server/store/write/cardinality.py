"""Detects unbounded metric names, such as names that contain the step, long before any limit is reached."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from holter.server.store.encoding.attempt_progress import AttemptProgress
from holter.types import Batch, DenseColumns, SeriesKey

MIN_EXPLOSION_SERIES = 512
"""Fewer series of one pattern are no explosion; of more, only the newest this many are examined."""

MIN_EXPLOSION_STEPS = 64
"""Minimum number of different first steps among these series."""

_MAX_POINTS = 2  # points: a series with more of them is a regular one
_MIN_SHARE = 0.9  # of the series have no more points than that
_VARIABLE = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # a UUID
    r"|(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{6,}(?![0-9A-Za-z])"  # a hash
    r"|[0-9]+(?:\.[0-9]+)?"
)
_COUNTERS = re.compile(r"[\W_]*(?:(?:step|iter|iteration|epoch|batch|sample|id|idx)[\W_]*)?$", re.IGNORECASE)


class SeriesStart(NamedTuple):
    """How a new series begins: its number of points, and its first step."""

    points: int
    step: int


@dataclass(slots=True)
class _PatternSeries:
    """The series whose names differ in numbers only: how many, and the indices of the newest."""

    count: int = 0
    newest_indices: deque[int] = field(default_factory=lambda: deque(maxlen=MIN_EXPLOSION_SERIES))


class NamePatterns:
    """The series of one run grouped by name pattern, and the patterns that have exploded."""

    def __init__(self, series_index: Mapping[SeriesKey, int]) -> None:
        self._by_pattern: dict[str, _PatternSeries] = {}
        self._exploded: set[str] = set()
        for key, index in series_index.items():
            self.add(key, index)

    def add(self, key: SeriesKey, index: int) -> None:
        """Register a series with its index in the run."""
        pattern = name_pattern(key)
        if "*" in pattern:
            series = self._by_pattern.setdefault(pattern, _PatternSeries())
            series.count += 1
            series.newest_indices.append(index)

    def exploding_series(
        self, new: Mapping[SeriesKey, SeriesStart], progress: Iterable[AttemptProgress]
    ) -> dict[SeriesKey, tuple[str, str]]:
        """Return the new series that continue an explosion, each with its pattern and the reason."""
        by_pattern: dict[str, list[SeriesKey]] = {}
        for key in new:
            by_pattern.setdefault(name_pattern(key), []).append(key)
        exploding: dict[SeriesKey, tuple[str, str]] = {}
        for pattern, keys in by_pattern.items():
            keys.sort(key=lambda key: new[key].step)
            series = self._by_pattern.get(pattern, _PatternSeries())
            if "*" in pattern and self._explodes(pattern, series, [new[key] for key in keys], progress):
                reason = _reason(pattern, max(series.count, MIN_EXPLOSION_SERIES))
                exploding |= {
                    key: (pattern, reason) for key in keys[max(0, MIN_EXPLOSION_SERIES - series.count) :]
                }
        return exploding

    def _explodes(
        self,
        pattern: str,
        series: _PatternSeries,
        new: Sequence[SeriesStart],
        progress: Iterable[AttemptProgress],
    ) -> bool:
        if pattern in self._exploded:
            return True
        if series.count + len(new) < MIN_EXPLOSION_SERIES:
            return False
        indices = np.array(series.newest_indices, dtype=np.int64)
        points = np.zeros(len(indices), dtype=np.int64)
        first = np.full(len(indices), np.iinfo(np.int64).max)
        for attempt_progress in progress:
            counts, steps = attempt_progress.counts_and_first_steps(indices)
            points, first = points + counts, np.minimum(first, steps)
        points = np.concatenate((points, [start.points for start in new]))[-MIN_EXPLOSION_SERIES:]
        first = np.concatenate((first, [start.step for start in new]))[-MIN_EXPLOSION_SERIES:]
        if np.mean(points <= _MAX_POINTS) >= _MIN_SHARE and len(np.unique(first)) >= MIN_EXPLOSION_STEPS:
            self._exploded.add(pattern)
            return True
        return False


def name_pattern(key: SeriesKey) -> str:
    """The series' name with "*" for each number, hash or UUID in it and in its labels' values."""
    metric = _VARIABLE.sub("*", key.metric)
    if not key.labels:
        return metric
    return str(SeriesKey(metric, tuple((name, _VARIABLE.sub("*", value)) for name, value in key.labels)))


def series_starts(batch: Batch, keys: Sequence[SeriesKey]) -> dict[SeriesKey, SeriesStart]:
    """How these series begin in a batch that contains them."""
    if isinstance(batch.columns, DenseColumns):
        return dict.fromkeys(keys, SeriesStart(len(batch.steps), int(batch.steps.min())))
    columns = {column.key: column for column in batch.columns}
    first_step = int(batch.steps.min())
    return {
        key: SeriesStart(
            len(columns[key].values),
            first_step if (column_rows := columns[key].rows) is None else int(batch.steps[column_rows].min()),
        )
        for key in keys
    }


def _reason(pattern: str, count: int) -> str:
    prefix = pattern.partition("{")[0].partition("*")[0]
    advice = f'log "{prefix}"' if (prefix := _COUNTERS.sub("", prefix)) else "log one name"
    return f"{pattern}: {count} series with one or two points each; {advice} with the step instead"
