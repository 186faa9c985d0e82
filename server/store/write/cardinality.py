"""Names that never come again: metrics whose name holds the step, recognised long before any limit."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from holter.server.store.encoding.attempt_progress import Progress
from holter.types import Batch, DenseColumns, SeriesKey

MANY = 512
"""Series of one pattern that are looked at, the newest; with fewer there is no explosion."""

STEPS = 64
"""At so many different steps, at least, they must have begun."""

_FEW = 2  # points: more than that, and a series is one
_SHARE = 0.9  # of them have so few
_VARIABLE = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # a UUID
    r"|(?<![0-9A-Za-z])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{6,}(?![0-9A-Za-z])"  # a hash
    r"|[0-9]+(?:\.[0-9]+)?"
)
_COUNTERS = re.compile(r"[\W_]*(?:(?:step|iter|iteration|epoch|batch|sample|id|idx)[\W_]*)?$", re.IGNORECASE)


class Beginning(NamedTuple):
    """How a new series begins: how many points it has, and its first step."""

    points: int
    step: int


@dataclass(slots=True)
class _Kin:
    """The series whose names differ in numbers only: how many, and the places of the newest."""

    count: int = 0
    newest: deque[int] = field(default_factory=lambda: deque(maxlen=MANY))


class Births:
    """The series of one run by the patterns of their names, and the patterns that have exploded."""

    def __init__(self, places: Mapping[SeriesKey, int]) -> None:
        self._kin: dict[str, _Kin] = {}
        self._exploded: set[str] = set()
        for key, place in places.items():
            self.add(key, place)

    def add(self, key: SeriesKey, place: int) -> None:
        """Know a series that has come to its place."""
        pattern = pattern_of(key)
        if "*" in pattern:
            kin = self._kin.setdefault(pattern, _Kin())
            kin.count += 1
            kin.newest.append(place)

    def culprits(
        self, new: Mapping[SeriesKey, Beginning], progress: Iterable[Progress]
    ) -> dict[SeriesKey, tuple[str, str]]:
        """Those of some new series that continue an explosion, each with its pattern and the reason."""
        by_pattern: dict[str, list[SeriesKey]] = {}
        for key in new:
            by_pattern.setdefault(pattern_of(key), []).append(key)
        found: dict[SeriesKey, tuple[str, str]] = {}
        for pattern, keys in by_pattern.items():
            keys.sort(key=lambda key: new[key].step)
            known = self._kin.get(pattern, _Kin())
            if "*" in pattern and self._explodes(pattern, known, [new[key] for key in keys], progress):
                reason = _reason(pattern, max(known.count, MANY))
                found |= {key: (pattern, reason) for key in keys[max(0, MANY - known.count) :]}
        return found

    def _explodes(
        self, pattern: str, known: _Kin, new: Sequence[Beginning], progress: Iterable[Progress]
    ) -> bool:
        if pattern in self._exploded:
            return True
        if known.count + len(new) < MANY:
            return False
        places = np.array(known.newest, dtype=np.int64)
        points = np.zeros(len(places), dtype=np.int64)
        first = np.full(len(places), np.iinfo(np.int64).max)
        for attempt in progress:
            counts, steps = attempt.at(places)
            points, first = points + counts, np.minimum(first, steps)
        points = np.concatenate((points, [one.points for one in new]))[-MANY:]
        first = np.concatenate((first, [one.step for one in new]))[-MANY:]
        if np.mean(points <= _FEW) >= _SHARE and len(np.unique(first)) >= STEPS:
            self._exploded.add(pattern)
            return True
        return False


def pattern_of(key: SeriesKey) -> str:
    """The series' name with a star for each number, hash or UUID in it and in its labels' values."""
    metric = _VARIABLE.sub("*", key.metric)
    if not key.labels:
        return metric
    return str(SeriesKey(metric, tuple((name, _VARIABLE.sub("*", value)) for name, value in key.labels)))


def beginnings(batch: Batch, keys: Sequence[SeriesKey]) -> dict[SeriesKey, Beginning]:
    """How these series begin in a batch that has them."""
    if isinstance(batch.columns, DenseColumns):
        return dict.fromkeys(keys, Beginning(len(batch.steps), int(batch.steps.min())))
    rows = {column.key: column for column in batch.columns}
    whole = int(batch.steps.min())
    return {
        key: Beginning(
            len(rows[key].values), whole if (at := rows[key].rows) is None else int(batch.steps[at].min())
        )
        for key in keys
    }


def _reason(pattern: str, count: int) -> str:
    name = pattern.partition("{")[0].partition("*")[0]
    advice = f'log "{name}"' if (name := _COUNTERS.sub("", name)) else "log one name"
    return f"{pattern}: {count} series with one or two points each; {advice} with the step instead"
