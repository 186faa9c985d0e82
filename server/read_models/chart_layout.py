"""The health strip: a run's whole life on one line, and which of its series speak for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from holter.roles import ROLE_TITLES, Role, role_of
from holter.types import FloatArray, IntArray, SeriesKey

BINS = 120
CHART_SERIES = 50
LATEST_ROLES = (Role.LOSS, Role.THROUGHPUT, Role.STEP_TIME, Role.MFU, Role.GRAD_NORM, Role.LEARNING_RATE)
_TOGETHER = frozenset({Role.DATASET_LOSS, Role.MIXTURE, Role.LEARNING_RATE, Role.SKIPPED})
_METRICS = 4
"""Charts of one role that a page begins with; the others are found by name."""
_FEW, _MANY = 2, 20
"""Points of a metric that is no curve beside another of its role that is one."""


class HasPoints(Protocol):
    """What is asked of a series: its key and how many points it has."""

    @property
    def key(self) -> SeriesKey: ...
    @property
    def points(self) -> int: ...


def representative_series(series: Iterable[HasPoints]) -> dict[Role, SeriesKey]:
    """The one series of each role that stands for it: few labels, many points, a short name."""
    some = [(role_of(one.key), one) for one in series]
    speaking = [(role, one) for role, one in some if role in LATEST_ROLES]
    best: dict[Role, SeriesKey] = {}
    for role, one in sorted(speaking, key=lambda pair: _rank(pair[1])):
        best.setdefault(role, one.key)
    return {role: best[role] for role in LATEST_ROLES if role in best}


def _rank(one: HasPoints) -> tuple[int, int, int, SeriesKey]:
    return len(one.key.labels), -one.points, len(one.key.metric), one.key


def default_charts(series: Iterable[HasPoints], spoken_of: Collection[str] = ()) -> list[dict[str, Any]]:
    """The charts a run's page begins with: a chart a metric, those that matter most first.

    A chart names at most `CHART_SERIES` of its series; `series_count` says how many there are. Of a role with
    many metrics a few have charts, and those of `spoken_of`, the metrics of incidents.
    """
    groups: dict[tuple[Role, str], list[SeriesKey]] = {}
    for role, one in _curves(series, spoken_of):
        groups.setdefault((role, "" if role in _TOGETHER else one.metric), []).append(one)
    order = list(ROLE_TITLES)
    ranked = sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), len(group[0][1]), group[0][1])
    )
    seen: Counter[Role] = Counter()
    chosen = []
    for (role, metric), keys in ranked:
        seen[role] += 1
        if seen[role] <= _METRICS or metric in spoken_of:
            chosen.append(((role, metric), keys))
    ranked = chosen
    alone = [role for (role, _), _ in ranked]
    return [
        {
            "title": ROLE_TITLES[role] if alone.count(role) == 1 else f"{ROLE_TITLES[role]}: {metric}",
            "role": role.value,
            "series": [
                {"metric": str(key.metric), "labels": dict(key.labels)} for key in sorted(keys)[:CHART_SERIES]
            ],
            "series_count": len(keys),
        }
        for (role, metric), keys in ranked
    ]


def _curves(series: Iterable[HasPoints], spoken_of: Collection[str]) -> list[tuple[Role, SeriesKey]]:
    """Series with a chart, and their roles; without the single points that stand beside curves of a role."""
    told = [(role_of(one.key), one) for one in series]
    most: Counter[tuple[Role, str]] = Counter()
    for role, one in told:
        most[role, one.key.metric] = max(most[role, one.key.metric], one.points)
    longest = {role: max(n for (of, _), n in most.items() if of is role) for role in {of for of, _ in most}}
    return [
        (role, one.key)
        for role, one in told
        if role in ROLE_TITLES
        and (most[role, one.key.metric] > _FEW or longest[role] < _MANY or one.key.metric in spoken_of)
    ]


def relative_throughput(
    step: IntArray, value: FloatArray, *, slower_is_more: bool
) -> Mapping[str, Sequence[Any]]:
    """Throughput over the run in up to `BINS` bins, each as a share of the run's own best.

    `step` and `value` [n], ghost branches left out; `slower_is_more`: the values are times a step.
    """
    usable = np.isfinite(value) & (value > 0)
    step, rate = step[usable], 1.0 / value[usable] if slower_is_more else value[usable]
    if not len(step):
        return {"step": [], "relative": []}
    low, high = int(step.min()), int(step.max())
    place = ((step - low) * BINS // max(high - low + 1, BINS)).astype(np.int64)
    count = np.bincount(place)
    filled = np.flatnonzero(count)
    mean = np.bincount(place, weights=rate)[filled] / count[filled]
    best = float(np.quantile(mean, 0.95))
    first = np.full(len(count), high)
    np.minimum.at(first, place, step)
    relative = np.clip(mean / best, 0.0, 1.0)
    return {"step": first[filled].tolist(), "relative": np.round(relative, 4).tolist()}
