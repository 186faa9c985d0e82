"""Writers: how far each process or file that logs into a run has come, series by series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import nan
from typing import Any

import numpy as np

from holter.attempts.config import Waiting
from holter.attempts.values import from_json, to_json
from holter.types import Column, Config, ConfigKey, ConfigValue, DenseColumns, SeriesKey

NO_STEP = int(np.iinfo(np.int64).min)
"""Below every step: where nothing has been logged."""

_PAST = 16  # launches whose words are kept of a writer that has no rows
_TRACKED = 32  # series remembered of a writer: enough to tell its clock, small enough to store each time


@dataclass(slots=True)
class Track:
    """What is remembered of one series of one writer in its attempt; times are NaN without a clock."""

    count: int = 0
    step: int = NO_STEP  # highest
    first: float = nan  # wall time
    last: float = nan  # latest wall time

    def seen(self, count: int, step: int, first: float, last: float) -> None:
        """Take in some more points of the series."""
        # said so plainly because it is the busiest line of ingest: NaN is what does not equal itself
        self.count += count
        if step > self.step:
            self.step = step
        if self.first != self.first:
            self.first = first
        if last > self.last or self.last != self.last:
            self.last = last


@dataclass(slots=True)
class Writer:
    """One process or file that logs into the run: where it is, and what it logged there."""

    attempt: int
    undecided: int = 0  # rows for which it may still turn out to be a new launch
    restarts: bool = False  # its first batch was marked as a new launch
    followed: int = -1  # newest attempt it has been compared with by the clock
    series: dict[SeriesKey, Track] = field(default_factory=dict)
    silent: bool = False  # it has only stated config so far
    config: dict[ConfigKey, ConfigValue] = field(default_factory=dict)  # stated since its last row
    past: list[tuple[int, dict[ConfigKey, ConfigValue]]] = field(default_factory=list)
    """What it stated of earlier attempts, where it has no rows that settle such words."""

    def to_json(self) -> list[Any]:
        """The state as JSON-able values; a time that is not known may be NaN or null there."""
        tracks = [
            [key.metric, key.labels, track.count, track.step, track.first, track.last]
            for key, track in self.series.items()
        ]
        stated = [self.silent, to_json(self.config)] if self.config else []
        if self.past:
            stated.append([[attempt, to_json(config)] for attempt, config in self.past])
        return [self.attempt, self.undecided, self.restarts, self.followed, tracks, *stated]

    @classmethod
    def from_json(cls, state: list[Any]) -> Writer:
        """The writer that `to_json` described."""
        series = {
            SeriesKey(metric, tuple((name, value) for name, value in labels)): Track(
                count, step, nan if first is None else first, nan if last is None else last
            )
            for metric, labels, count, step, first, last in state[4]
        }
        attempt, undecided, restarts, followed = state[:4]
        silent, config, *past = state[5:] or (False, ())
        before = [(number, from_json(said)) for number, said in (past[0] if past else ())]
        return cls(attempt, undecided, restarts, followed, series, silent, from_json(config), before)

    def waiting(self) -> Iterator[Waiting]:
        """What it stated of launches that no row has settled."""
        for attempt, config in (*self.past, (self.attempt, self.config)):
            if config:
                yield Waiting(attempt=attempt, silent=self.silent, config=config)

    def state_anew(self, config: Config, newest: int) -> None:
        """Take in what a writer without rows says from now on, instead of what it has said.

        If that says otherwise, it is of a later launch: of the `newest` attempt where that began since, or
        of the next one. -1: there is no attempt yet.
        """
        if any(self.config.get(key, value) != value for key, value in config.items()):
            following = newest if newest > self.attempt else newest + 1
            if following > self.attempt:
                self.past = [*self.past, (self.attempt, self.config)][-_PAST:]
            self.attempt, self.config = following, {}
        self.config = self.config | dict(config)

    def track(self, columns: Sequence[Column]) -> None:
        """Remember these columns' series too, as far as there is room; what was logged once makes room."""
        room = _TRACKED - len(self.series)
        idle = [key for key, track in self.series.items() if track.count <= 1]
        if not room and not idle:
            return
        counts = _counts(columns)
        idle = [key for key in idle if key not in counts]
        fresh = [key for key in counts if key not in self.series and not (key.labels and key.own_steps)]
        for key in idle[: max(0, len(fresh) - room)]:
            del self.series[key]
        self.series.update((key, Track()) for key in _first(fresh, counts, _TRACKED - len(self.series)))

    def enter(self, attempt: int) -> None:
        """Go on in another attempt: nothing has been logged there yet."""
        self.attempt = attempt
        self.series = {key: Track() for key in self.series}


def _first(keys: Sequence[SeriesKey], counts: Mapping[SeriesKey, int], room: int) -> Sequence[SeriesKey]:
    """As many as there is room for: those logged most often, by their names where they are equal in that."""
    if len(keys) <= room:
        return keys
    most = max(counts.values())
    ahead = [key for key in keys if counts[key] == most]
    if len(ahead) >= room:  # of thousands that are logged together, sorting all would take long
        return nsmallest(room, ahead)
    return sorted(keys, key=lambda key: (-counts[key], key))[:room]


def _counts(columns: Sequence[Column]) -> Mapping[SeriesKey, int]:
    """How many values each series has."""
    if isinstance(columns, DenseColumns):
        return dict.fromkeys(columns.shape.keys, int(columns.values.shape[1]))
    return {column.key: len(column.values) for column in columns}
