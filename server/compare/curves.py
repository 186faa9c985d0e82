"""Curves of several runs on a common axis, with differences from a baseline, and means of groups of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holter.detectors.compare.axes import AxisSource, StepMap, XAxis
from holter.detectors.compare.grid import grid_edges, grid_means, ratio_of
from holter.json_values import nonfinite_text
from holter.metric_units import unit_of_metric
from holter.roles import ROLE_TITLES, Role
from holter.server.compare.run_access import RunAccess, StoredRun, compared_run, finite_list
from holter.server.schemas.compare import (
    CompareCurves,
    ComparedBand,
    ComparedCurve,
    ComparedNonfinite,
    ComparedSegment,
    ComparisonChart,
    DifferenceCurve,
    GroupCurve,
)
from holter.server.store import CurveSegment, ReducedSeries
from holter.types import FloatArray, SeriesKey

DEFAULT_ROLES = (
    Role.LOSS, Role.EVAL_LOSS, Role.GRAD_NORM, Role.LEARNING_RATE, Role.THROUGHPUT, Role.STEP_TIME, Role.MFU,
)  # fmt: skip
"""The roles whose charts are shown where no metric is named."""
GRID_INTERVALS = 400
"""Intervals of x over which differences and groups are computed, at most."""
MAX_CHART_POINTS = 400_000
"""Points of all curves of one answer, about."""
MIN_CURVE_POINTS = 20
NO_GROUP = "(not stated)"
_LISTED_METRICS = 2000
_LOCATING_POINTS = 1000
"""Points of the reduced curve by which a range of x is found."""


class CurveRange(NamedTuple):
    """The range of x that is wanted; None: no limit."""

    low: float | None
    high: float | None


class _Curve(NamedTuple):
    """A run's curve in one chart: as it is drawn, and the means of its surviving points by ascending x."""

    run: StoredRun
    key: SeriesKey
    drawn: ComparedCurve
    x: FloatArray
    value: FloatArray


class CurveReader:
    """Reads curves for comparison charts."""

    def __init__(self, access: RunAccess) -> None:
        self._access = access

    def curves(
        self,
        public_ids: Sequence[str],
        *,
        baseline: str | None,
        axis: XAxis,
        metrics: Sequence[str],
        group_by: str | None,
        limits: CurveRange,
        points: int,
    ) -> CompareCurves:
        """Charts of these metrics, or of the usual roles. Raises UnknownRunError.

        `baseline`: one of the runs, by default the first. A run without a metric is drawn with the metric
        that represents its role.
        """
        runs = self._access.runs(public_ids)
        maps = {run.id: self._access.axis(run, axis) for run in runs}
        chosen = choose_metrics(runs, metrics)
        count = max(sum(len(keys) for _, _, keys in chosen), 1)
        points = max(MIN_CURVE_POINTS, min(points, MAX_CHART_POINTS // count))
        base = baseline or runs[0].public_id
        return {
            "baseline": base,
            "x": axis,
            "group_by": group_by,
            "runs": [compared_run(run, maps[run.id], group_by) for run in runs],
            "charts": [
                self._chart(metric, role, keys, runs, maps, base, group_by, limits, points)
                for metric, role, keys in chosen
            ],
            "metrics": common_metrics(runs),
        }

    def _chart(
        self,
        metric: str,
        role: Role,
        keys: Mapping[int, SeriesKey],
        runs: Sequence[StoredRun],
        maps: Mapping[int, StepMap],
        baseline: str,
        group_by: str | None,
        limits: CurveRange,
        points: int,
    ) -> ComparisonChart:
        curves = [
            _read_curve(run, keys[run.id], maps[run.id], limits, points)
            for run in runs
            if run.id in keys and maps[run.id].source is not AxisSource.MISSING
        ]
        return {
            "title": ROLE_TITLES.get(role, metric) if role is not Role.OTHER else metric,
            "metric": metric,
            "role": role.value,
            "unit": unit_of_metric(role, metric),
            "curves": [curve.drawn for curve in curves],
            "differences": _differences(curves, baseline),
            "groups": [] if group_by is None else _groups(curves, group_by),
        }


def choose_metrics(
    runs: Sequence[StoredRun], metrics: Sequence[str]
) -> list[tuple[str, Role, dict[int, SeriesKey]]]:
    """The charts' metrics with their roles, and the series of each run by its id."""
    if metrics:
        return [_series_of_metric(runs, metric) for metric in dict.fromkeys(metrics)]
    chosen = []
    for role in DEFAULT_ROLES:
        keys = {run.id: key for run in runs if (key := representative(run, role)) is not None}
        if keys:
            names = Counter(str(key.metric) for key in keys.values())
            chosen.append((names.most_common(1)[0][0], role, keys))
    return chosen


def _series_of_metric(runs: Sequence[StoredRun], metric: str) -> tuple[str, Role, dict[int, SeriesKey]]:
    keys: dict[int, SeriesKey] = {}
    for run in runs:
        own = [each.key for each in run.summaries if each.key.metric == metric or str(each.key) == metric]
        if own:
            keys[run.id] = min(own, key=lambda key: (len(key.labels), key))
    roles = Counter(run.role(keys[run.id]) for run in runs if run.id in keys)
    role = roles.most_common(1)[0][0] if roles else Role.OTHER
    if role in DEFAULT_ROLES:
        for run in runs:
            if run.id not in keys and (key := representative(run, role)) is not None:
                keys[run.id] = key
    return metric, role, keys


def representative(run: StoredRun, role: Role) -> SeriesKey | None:
    """The series of a run that represents a role: of few labels, many points, a short name."""
    candidates = [each for each in run.summaries if each.key.step_unit is None and run.role(each.key) is role]
    if not candidates:
        return None
    return min(
        candidates, key=lambda each: (len(each.key.labels), -each.points, len(each.key.metric), each.key)
    ).key


def common_metrics(runs: Sequence[StoredRun]) -> list[str]:
    """The metrics that several runs have (all of one run), those of roles with charts first."""
    count: Counter[str] = Counter()
    roles: dict[str, Role] = {}
    for run in runs:
        for metric, role in {
            str(each.key.metric): run.role(each.key) for each in run.summaries if each.key.step_unit is None
        }.items():
            count[metric] += 1
            roles.setdefault(metric, role)
    order = list(ROLE_TITLES)
    shared = [metric for metric, number in count.items() if number >= min(2, len(runs))]
    shared.sort(
        key=lambda metric: (order.index(roles[metric]) if roles[metric] in order else len(order), metric)
    )
    return shared[:_LISTED_METRICS]


def _read_curve(run: StoredRun, key: SeriesKey, axis: StepMap, limits: CurveRange, points: int) -> _Curve:
    """A curve within limits of x, reduced to about `points` points."""
    first, last = _step_limits(run, key, axis, limits)
    charts = run.store.chart(run.id, [key], from_step=first, to_step=last, points=points)
    if not charts:
        return _Curve(run, key, _drawn(run, key, None, axis, []), np.empty(0), np.empty(0))
    chart = charts[0]
    segments = [_segment(segment, axis, limits) for segment in chart.segments]
    surviving = [
        (np.asarray(drawn["x"]), np.asarray(drawn["value"]))
        if drawn["band"] is None
        else (np.asarray(drawn["band"]["x"]), np.asarray(drawn["band"]["mean"]))
        for drawn in segments
        if not drawn["ghost"]
    ]
    x = np.concatenate([np.empty(0), *(part for part, _ in surviving)])
    value = np.concatenate([np.empty(0), *(part for _, part in surviving)])
    order = np.argsort(x, kind="stable")
    drawn = _drawn(run, key, chart, axis, [segment for segment in segments if segment["x"]])
    return _Curve(run, key, drawn, x[order], value[order])


def _drawn(
    run: StoredRun,
    key: SeriesKey,
    chart: ReducedSeries | None,
    axis: StepMap,
    segments: list[ComparedSegment],
) -> ComparedCurve:
    return {
        "run": run.public_id,
        "metric": str(key.metric),
        "labels": dict(key.labels),
        "count": 0 if chart is None else chart.count,
        "reduced": chart is not None and chart.reduced,
        "segments": segments,
        "nonfinite": [] if chart is None else [_nonfinite(axis, *point) for point in chart.nonfinite],
        "nonfinite_count": 0 if chart is None else chart.nonfinite_count,
    }


def _nonfinite(axis: StepMap, attempt: int, step: int, value: float) -> ComparedNonfinite:
    (x,) = finite_list(axis.x(attempt, np.array([step]), np.array([np.nan])))
    return {"attempt": int(attempt), "step": int(step), "x": x, "value": nonfinite_text(float(value))}


def _segment(segment: CurveSegment, axis: StepMap, limits: CurveRange) -> ComparedSegment:
    x = axis.x(segment.attempt, segment.step, segment.time)
    shown = np.isfinite(x) & _within(x, limits)
    band = segment.band
    drawn_band: ComparedBand | None = None
    if band is not None:
        # a bucket has no time of its own: that of the drawn points around it
        times = np.interp(band.step, segment.step, segment.time) if len(segment.step) else np.empty(0)
        band_x = axis.x(segment.attempt, band.step, times)
        rows = np.isfinite(band_x) & _within(band_x, limits)
        columns = (band_x, band.minimum, band.maximum, band.mean)
        band_x, low, high, mean = (column[rows].tolist() for column in columns)
        drawn_band = {"x": band_x, "minimum": low, "maximum": high, "mean": mean}
    return {
        "attempt": segment.attempt,
        "ghost": segment.ghost,
        "step": segment.step[shown].tolist(),
        "x": x[shown].tolist(),
        "value": segment.value[shown].tolist(),
        "band": drawn_band,
    }


def _within(x: FloatArray, limits: CurveRange) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    low = -np.inf if limits.low is None else limits.low
    high = np.inf if limits.high is None else limits.high
    return (x >= low) & (x <= high)


def _step_limits(
    run: StoredRun, key: SeriesKey, axis: StepMap, limits: CurveRange
) -> tuple[int | None, int | None]:
    """The range of steps that contains a range of x, so that only this range is read."""
    if limits == CurveRange(None, None):
        return None, None
    charts = run.store.chart(run.id, [key], points=_LOCATING_POINTS)
    segments = [segment for chart in charts for segment in chart.segments]
    low, high = [], []
    for segment in segments:
        x = axis.x(segment.attempt, segment.step, segment.time)
        known = np.isfinite(x)
        step, x = segment.step[known], x[known]
        if not len(x):
            continue
        # the neighbours of the range, too, since between drawn points there are others
        first = int(np.searchsorted(x, -np.inf if limits.low is None else limits.low)) - 1
        last = int(np.searchsorted(x, np.inf if limits.high is None else limits.high, side="right"))
        low.append(int(step[max(first, 0)]))
        high.append(int(step[min(last, len(step) - 1)]))
    return (min(low), max(high)) if low else (None, None)


def _differences(curves: Sequence[_Curve], baseline: str) -> list[DifferenceCurve]:
    """The difference of each curve from the baseline's, over the range of x that both have."""
    base = next((curve for curve in curves if curve.run.public_id == baseline), None)
    if base is None:
        return []
    listed: list[DifferenceCurve] = []
    for curve in curves:
        if curve is base:
            continue
        edges = grid_edges([base.x, curve.x], GRID_INTERVALS, overlap=True)
        if len(edges) < 2:
            continue
        mine, theirs = (grid_means(edges, each.x, each.value).mean for each in (curve, base))
        shown = np.isfinite(mine) & np.isfinite(theirs)
        centers = (edges[:-1] + edges[1:])[shown] / 2
        listed.append(
            {
                "run": curve.run.public_id,
                "x": centers.tolist(),
                "difference": (mine - theirs)[shown].tolist(),
                "ratio": finite_list(ratio_of(mine[shown], theirs[shown])),
            }
        )
    return listed


def _groups(curves: Sequence[_Curve], group_by: str) -> list[GroupCurve]:
    """Mean and range of the runs of each value of a setting."""
    by_group: dict[str, list[_Curve]] = {}
    for curve in curves:
        by_group.setdefault(curve.run.group(group_by) or NO_GROUP, []).append(curve)
    listed: list[GroupCurve] = []
    for group, members in sorted(by_group.items()):
        edges = grid_edges([curve.x for curve in members], GRID_INTERVALS, overlap=False)
        if len(edges) < 2:
            continue
        means = np.stack([grid_means(edges, curve.x, curve.value).mean for curve in members])
        count = np.count_nonzero(np.isfinite(means), axis=0)
        shown = count > 0
        means, count = means[:, shown], count[shown]
        mean = np.nansum(means, axis=0) / count
        spread = np.sqrt(np.nansum((means - mean) ** 2, axis=0) / np.maximum(count - 1, 1))
        listed.append(
            {
                "group": group,
                "runs": [curve.run.public_id for curve in members],
                "x": ((edges[:-1] + edges[1:])[shown] / 2).tolist(),
                "mean": mean.tolist(),
                "minimum": np.nanmin(means, axis=0).tolist(),
                "maximum": np.nanmax(means, axis=0).tolist(),
                "deviation": finite_list(np.where(count > 1, spread, np.nan)),
                "count": count.tolist(),
            }
        )
    return listed
