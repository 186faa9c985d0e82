"""State of each writer (a process or file that logs into a run): its attempt and its series' progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import nan
from typing import Any

import numpy as np

from holter.attempts.config import PendingConfig
from holter.attempts.config_values import config_from_json, config_to_json
from holter.types import Column, Config, ConfigKey, ConfigValue, DenseColumns, SeriesKey

NO_STEP = int(np.iinfo(np.int64).min)
"""Below every step: nothing has been logged."""
MAX_STEP = int(np.iinfo(np.int64).max)
"""Above every step that a log has."""

_MAX_EARLIER_CONFIGS = 16  # earlier launches whose config is retained of a writer that has no rows
_MAX_TRACKED_SERIES = 32  # per writer: enough to find its clock series, small enough to store with each batch


@dataclass(slots=True)
class SeriesProgress:
    """Progress of one series of one writer in its attempt; times are NaN without a clock."""

    count: int = 0
    step: int = NO_STEP  # highest
    low: int = MAX_STEP  # lowest
    first: float = nan  # wall time
    last: float = nan  # latest wall time

    def record(self, count: int, low: int, step: int, first: float, last: float) -> None:
        """Add `count` points with this lowest and highest step, first and latest wall time."""
        # the busiest lines of ingest: a NaN is recognised by not being equal to itself, without a call
        self.count += count
        if step > self.step:
            self.step = step
        if low < self.low:
            self.low = low
        if self.first != self.first:
            self.first = first
        if last > self.last or self.last != self.last:
            self.last = last


@dataclass(slots=True)
class WriterState:
    """One process or file that logs into the run: its attempt and what it logged there."""

    attempt: int
    undecided: int = 0  # rows within which it may still turn out to be a new launch
    restarts: bool = False  # its first batch was marked as a new launch
    compared_with: int = -1  # newest attempt it has been compared with by the clock
    series: dict[SeriesKey, SeriesProgress] = field(default_factory=dict)
    silent: bool = False  # it has only stated config so far
    config: dict[ConfigKey, ConfigValue] = field(default_factory=dict)  # stated since its last row
    earlier_config: list[tuple[int, dict[ConfigKey, ConfigValue]]] = field(default_factory=list)
    """Config that it stated of earlier attempts, where it has no rows that assign it to a launch."""
    distinguished: set[SeriesKey] = field(default_factory=set)
    """Series that get the label `writer`, since another writer logs them, too."""
    sole_owner: bool = False
    """No other writer logs its tracked series in its attempt, as far as was seen when it was last checked."""

    def to_json(self) -> list[Any]:
        """The state as JSON-able values; an unknown time may be NaN or null there."""
        series = [
            [
                key.metric,
                key.labels,
                progress.count,
                progress.step,
                progress.first,
                progress.last,
                progress.low,
            ]
            for key, progress in self.series.items()
        ]
        stated: list[Any] = []
        if self.config or self.earlier_config or self.distinguished:
            stated = [self.silent, config_to_json(self.config)]
        if self.earlier_config or self.distinguished:
            stated.append([[attempt, config_to_json(config)] for attempt, config in self.earlier_config])
        if self.distinguished:
            stated.append([[key.metric, key.labels] for key in sorted(self.distinguished)])
        return [self.attempt, self.undecided, self.restarts, self.compared_with, series, *stated]

    @classmethod
    def from_json(cls, state: list[Any]) -> WriterState:
        """The writer from the values that `to_json` returned."""
        series = {
            _key(metric, labels): SeriesProgress(
                # states of earlier versions have no lowest step
                count,
                step,
                low[0] if low else step,
                nan if first is None else first,
                nan if last is None else last,
            )
            for metric, labels, count, step, first, last, *low in state[4]
        }
        attempt, undecided, restarts, compared_with = state[:4]
        silent, config, *more = state[5:] or (False, ())
        earlier_config = [(number, config_from_json(stated)) for number, stated in (more[0] if more else ())]
        return cls(
            attempt,
            undecided,
            restarts,
            compared_with,
            series,
            silent,
            config_from_json(config),
            earlier_config,
            {_key(metric, labels) for metric, labels in (more[1] if len(more) > 1 else ())},
        )

    def pending_config(self) -> Iterator[PendingConfig]:
        """The config it stated of launches that no row has assigned."""
        for attempt, config in (*self.earlier_config, (self.attempt, self.config)):
            if config:
                yield PendingConfig(attempt=attempt, silent=self.silent, config=config)

    def restate_config(self, config: Config, newest: int) -> None:
        """Replace the stated config of a writer without rows.

        Config that contradicts the previous one belongs to a later launch: the `newest` attempt where that
        began since, or else the next one. `newest` is -1 while there is no attempt.
        """
        if any(self.config.get(key, value) != value for key, value in config.items()):
            following = newest if newest > self.attempt else newest + 1
            if following > self.attempt:
                earlier = [*self.earlier_config, (self.attempt, self.config)]
                self.earlier_config = earlier[-_MAX_EARLIER_CONFIGS:]
            self.attempt, self.config = following, {}
        self.config = self.config | dict(config)

    def track_series(self, columns: Sequence[Column]) -> None:
        """Track these columns' series too, within the limit; series logged only once give way to them."""
        free = _MAX_TRACKED_SERIES - len(self.series)
        idle = [key for key, progress in self.series.items() if progress.count <= 1]
        if not free and not idle:
            return
        counts = _count_values(columns)
        idle = [key for key in idle if key not in counts]
        fresh = [key for key in counts if key not in self.series and not (key.labels and key.step_unit)]
        for key in idle[: max(0, len(fresh) - free)]:
            del self.series[key]
        added = _most_logged(fresh, counts, _MAX_TRACKED_SERIES - len(self.series))
        self.series.update((key, SeriesProgress()) for key in added)
        self.sole_owner &= not added

    def enter(self, attempt: int) -> None:
        """Switch to another attempt, where nothing has been logged yet."""
        self.attempt = attempt
        self.series = {key: SeriesProgress() for key in self.series}
        self.sole_owner = False


def _key(metric: str, labels: Iterable[Sequence[str]]) -> SeriesKey:
    return SeriesKey(metric, tuple((name, value) for name, value in labels))


def _most_logged(
    keys: Sequence[SeriesKey], counts: Mapping[SeriesKey, int], limit: int
) -> Sequence[SeriesKey]:
    """At most `limit` of the keys: those logged most often, ordered by name where equally often."""
    if len(keys) <= limit:
        return keys
    most = max(counts.values())
    leading = [key for key in keys if counts[key] == most]
    if len(leading) >= limit:  # sorting all of thousands that are logged together would take long
        return nsmallest(limit, leading)
    return sorted(keys, key=lambda key: (-counts[key], key))[:limit]


def _count_values(columns: Sequence[Column]) -> Mapping[SeriesKey, int]:
    """The number of values of each series."""
    if isinstance(columns, DenseColumns):
        return dict.fromkeys(columns.layout.keys, int(columns.values.shape[1]))
    return {column.key: len(column.values) for column in columns}
