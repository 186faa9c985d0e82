"""Which series represent a run, which charts its page shows first, and its throughput in bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Protocol

import numpy as np

from holter.roles import ROLE_TITLES, Role, role_of
from holter.server.schemas.base import SeriesName
from holter.server.schemas.runs import DefaultChart, StripThroughput
from holter.types import FloatArray, IntArray, SeriesKey

BINS = 120
"""Bins of the throughput on a health strip."""
CHART_SERIES = 50
"""Series that a default chart names at most."""
LATEST_ROLES = (Role.LOSS, Role.THROUGHPUT, Role.STEP_TIME, Role.MFU, Role.GRAD_NORM, Role.LEARNING_RATE)
"""The roles whose newest values the overview shows."""
_COMBINED = frozenset({Role.DATASET_LOSS, Role.MIXTURE, Role.LEARNING_RATE, Role.SKIPPED})
"""Roles whose metrics share one chart."""
_CHARTS_PER_ROLE = 4
"""Default charts of one role at most; other metrics are found by name."""
_MIN_CURVE_POINTS, _LONG_CURVE_POINTS = 2, 20
"""A metric with at most so many points gets no chart next to one of its role with so many."""


class HasPoints(Protocol):
    """A series with its key and its number of points."""

    @property
    def key(self) -> SeriesKey: ...
    @property
    def points(self) -> int: ...


def representative_series(series: Iterable[HasPoints]) -> dict[Role, SeriesKey]:
    """The series that represents each of LATEST_ROLES: of few labels, many points, a short name."""
    candidates = [(role_of(each.key), each) for each in series]
    best: dict[Role, SeriesKey] = {}
    for role, each in sorted(candidates, key=lambda pair: _preference(pair[1])):
        best.setdefault(role, each.key)
    return {role: best[role] for role in LATEST_ROLES if role in best}


def _preference(series: HasPoints) -> tuple[int, int, int, SeriesKey]:
    return len(series.key.labels), -series.points, len(series.key.metric), series.key


def default_charts(series: Iterable[HasPoints], incident_metrics: Collection[str] = ()) -> list[DefaultChart]:
    """The charts that a run page shows first, one per metric, the most important first.

    A chart names at most `CHART_SERIES` of its `series_count` series. Of a role with many metrics, a few get
    charts, in addition to those with incidents.
    """
    groups: dict[tuple[Role, str], list[SeriesKey]] = {}
    for role, key in _series_with_charts(series, incident_metrics):
        groups.setdefault((role, "" if role in _COMBINED else key.metric), []).append(key)
    order = list(ROLE_TITLES)
    ranked = sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), len(group[0][1]), group[0][1])
    )
    charts_of: Counter[Role] = Counter()
    selected = []
    for (role, metric), keys in ranked:
        charts_of[role] += 1
        if charts_of[role] <= _CHARTS_PER_ROLE or metric in incident_metrics:
            selected.append((role, metric, keys))
    charts_of = Counter(role for role, _, _ in selected)
    return [
        DefaultChart(
            title=ROLE_TITLES[role] if charts_of[role] == 1 else f"{ROLE_TITLES[role]}: {metric}",
            role=role.value,
            series=[
                SeriesName(metric=str(key.metric), labels=dict(key.labels))
                for key in sorted(keys)[:CHART_SERIES]
            ],
            series_count=len(keys),
        )
        for role, metric, keys in selected
    ]


def _series_with_charts(
    series: Iterable[HasPoints], incident_metrics: Collection[str]
) -> list[tuple[Role, SeriesKey]]:
    """The series of default charts with their roles, without short metrics next to long ones of a role."""
    candidates = [(role_of(each.key), each) for each in series]
    points_of_metric: Counter[tuple[Role, str]] = Counter()
    points_of_role: Counter[Role] = Counter()
    for role, each in candidates:
        metric = role, each.key.metric
        points_of_metric[metric] = max(points_of_metric[metric], each.points)
        points_of_role[role] = max(points_of_role[role], each.points)
    return [
        (role, each.key)
        for role, each in candidates
        if role in ROLE_TITLES
        and (
            points_of_metric[role, each.key.metric] > _MIN_CURVE_POINTS
            or points_of_role[role] < _LONG_CURVE_POINTS
            or each.key.metric in incident_metrics
        )
    ]


def relative_throughput(step: IntArray, value: FloatArray, *, slower_is_more: bool) -> StripThroughput:
    """Throughput over a run in up to `BINS` bins, as shares of the bins' 95th percentile.

    `step` and `value` [n], without ghost branches; `slower_is_more`: the values are seconds per step.
    """
    usable = np.isfinite(value) & (value > 0)
    step, rate = step[usable], 1.0 / value[usable] if slower_is_more else value[usable]
    if not len(step):
        return {"step": [], "relative": []}
    low, high = int(step.min()), int(step.max())
    index = ((step - low) * BINS // max(high - low + 1, BINS)).astype(np.int64)
    count = np.bincount(index)
    filled = np.flatnonzero(count)
    mean = np.bincount(index, weights=rate)[filled] / count[filled]
    best = float(np.quantile(mean, 0.95))
    first = np.full(len(count), high)
    np.minimum.at(first, index, step)
    relative = np.clip(mean / best, 0.0, 1.0)
    return {"step": first[filled].tolist(), "relative": np.round(relative, 4).tolist()}
