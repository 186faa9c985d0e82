"""Which series represent a run, which charts its page shows first, and its throughput in bins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Protocol

import numpy as np

from holter.detectors.loss.components import is_total
from holter.detectors.policy_losses import has_adversary
from holter.roles import ROLE_TITLES, Role, is_of_evaluation, is_user_role, role_of
from holter.server.schemas.base import SeriesName
from holter.server.schemas.points import MetricChart
from holter.server.schemas.runs import DefaultChart, StripThroughput
from holter.server.store import SeriesSummary
from holter.types import FloatArray, IntArray, SeriesKey

BINS = 120
"""Bins of the throughput on a health strip."""
CHART_SERIES = 50
"""Series that a default chart names at most."""
LATEST_ROLES = (
    *(Role.LOSS, Role.REWARD, Role.THROUGHPUT, Role.STEP_TIME),
    *(Role.MFU, Role.GRAD_NORM, Role.LEARNING_RATE),
)
"""The roles whose newest values the overview shows."""
_SPEED = frozenset({Role.THROUGHPUT, Role.STEP_TIME, Role.MFU})
"""Roles of which the series of evaluations do not represent a run."""
_SHARE_OF_TOTAL = 0.1
"""Share of the points of a component that its total has at least: some trainers log a mean of the entire
training once, at its end."""
_COMBINED = frozenset({Role.DATASET_LOSS, Role.MIXTURE, Role.LEARNING_RATE, Role.SKIPPED})
"""Roles whose metrics share one chart."""
_CHARTS_PER_ROLE = 4
"""Default charts of one role at most; other metrics are found by name."""
_NUMBERED = 3
"""So many metrics of a role whose names differ by numbers alone are parts, such as layers: a metric of the
role that stands for the entire model has a chart first, theirs are in sections."""
_MIN_CURVE_POINTS, _LONG_CURVE_POINTS = 2, 20
"""A metric with at most so many points gets no chart next to one of its role with so many."""


class HasPoints(Protocol):
    """A series with its key and its number of points."""

    @property
    def key(self) -> SeriesKey: ...
    @property
    def points(self) -> int: ...


def representative_series(series: Iterable[HasPoints]) -> dict[Role, SeriesKey]:
    """The series that represents each of LATEST_ROLES: of few labels, many points, a short name; no speed of
    evaluations, no component of a loss whose total is logged as well, and a reward of evaluations only where
    there is no other. No reward represents a run whose loss is what the user calls its loss."""
    candidates = [(role_of(each.key), each) for each in series]
    best: dict[Role, HasPoints] = {}
    for role, each in sorted(candidates, key=lambda pair: _preference_of_role(*pair)):
        if role not in _SPEED or not is_of_evaluation(each.key):
            best.setdefault(role, each)
    if Role.LOSS in best:
        losses = [each for role, each in candidates if role is Role.LOSS]
        best[Role.LOSS] = _total_of(best[Role.LOSS], losses)
        if is_user_role(best[Role.LOSS].key):
            best.pop(Role.REWARD, None)
    return {role: best[role].key for role in LATEST_ROLES if role in best}


def _total_of(loss: HasPoints, losses: Iterable[HasPoints]) -> HasPoints:
    """The total that a loss is a component of; the loss itself where none is logged nearly as often."""
    fewest, labels = loss.points * _SHARE_OF_TOTAL, len(loss.key.labels)
    totals = [
        each
        for each in losses
        if is_total(each.key) and each.points >= fewest and len(each.key.labels) <= labels
    ]
    return loss if is_total(loss.key) or not totals else min(totals, key=_preference)


def _preference_of_role(role: Role, series: HasPoints) -> tuple[bool, tuple[int, int, int, SeriesKey]]:
    return role is Role.REWARD and is_of_evaluation(series.key), _preference(series)


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
    if any(role is Role.REWARD for role, _ in groups):  # the loss of a policy does not show its progress
        order.sort(key=lambda role: role is not Role.REWARD)
    ranked = sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), len(group[0][1]), group[0][1])
    )
    charts_of: Counter[Role] = Counter()
    selected = []
    parts = _parts_of_models(groups)
    for (role, metric), keys in ranked:
        if (role, metric) in parts and metric not in incident_metrics:
            continue
        charts_of[role] += 1
        if charts_of[role] <= _CHARTS_PER_ROLE or metric in incident_metrics:
            selected.append((role, metric, keys))
    charts_of = Counter(role for role, _, _ in selected)
    return [
        DefaultChart(
            title=_title(role, keys) if charts_of[role] == 1 else f"{ROLE_TITLES[role]}: {metric}",
            role=role.value,
            series=[
                SeriesName(metric=str(key.metric), labels=dict(key.labels))
                for key in sorted(keys)[:CHART_SERIES]
            ],
            series_count=len(keys),
        )
        for role, metric, keys in selected
    ]


def _title(role: Role, keys: Collection[SeriesKey]) -> str:
    """The title of the only chart of a role. A folder of losses has those of datasets, or of adversaries."""
    is_game = role is Role.DATASET_LOSS and has_adversary(keys)
    return ROLE_TITLES[Role.LOSS_TERM if is_game else role]


def _parts_of_models(metrics: Collection[tuple[Role, str]]) -> set[tuple[Role, str]]:
    """The metrics of parts of a model, where their role has another metric, too."""
    patterns = {(role, metric): (role, re.sub(r"[0-9]+", "#", metric)) for role, metric in metrics}
    sizes = Counter(patterns.values())
    numbered = {each for each, pattern in patterns.items() if sizes[pattern] >= _NUMBERED}
    others = {role for role, _ in patterns.keys() - numbered}
    return {(role, metric) for role, metric in numbered if role in others}


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


_NAMED_SERIES = 8
"""Series that a metric's chart names at most."""


def metric_charts(series: Iterable[SeriesSummary]) -> list[MetricChart]:
    """A chart for every metric, in sections: by role, then by the first part of the name."""
    groups: dict[str, list[SeriesSummary]] = {}
    for each in series:
        groups.setdefault(each.key.metric, []).append(each)
    order = list(ROLE_TITLES)
    ranked = []
    for metric, summaries in groups.items():
        role = role_of(summaries[0].key)
        place = order.index(role) if role in ROLE_TITLES else len(order)
        section = ROLE_TITLES.get(role) or _name_section(metric)
        ranked.append((place, section, _natural_order(metric), metric, role, summaries))
    ranked.sort(key=lambda item: item[:3])
    return [
        MetricChart(
            metric=metric,
            role=role.value,
            section=section,
            series=[
                SeriesName(metric=metric, labels=dict(each.key.labels)) for each in summaries[:_NAMED_SERIES]
            ],
            series_count=len(summaries),
            axis=len(summaries) == 1 and _only_grows(summaries[0]),
        )
        for _, section, _, metric, role, summaries in ranked
    ]


def _name_section(metric: str) -> str:
    """The first part of a name with parts, as `layers` of `layers/0/rms`."""
    head, separator, _ = metric.replace(".", "/").partition("/")
    return head if separator and head else "Other metrics"


def _natural_order(text: str) -> list[tuple[int, int, str]]:
    """A sort key by which layers/2 comes before layers/10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", text)
    return [(0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in parts]


def _only_grows(summary: SeriesSummary) -> bool:
    """Whether the newest value is the largest of a series without labels."""
    return (
        not summary.key.labels
        and summary.points > _MIN_CURVE_POINTS
        and summary.nonfinite == 0
        and summary.minimum is not None
        and summary.maximum is not None
        and summary.last_value == summary.maximum > summary.minimum
    )


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
