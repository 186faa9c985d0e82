"""Reads about a run's launches: configuration, diagnostics, throughput, collectives; computed on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from holter.attempts.config import ConfigByAttempt
from holter.attempts.config_diff import attempts_with_config, list_changes, list_settings
from holter.attempts.environment import list_environment_changes
from holter.attempts.step_values import last_of_each_step
from holter.curves import LineSegment, between
from holter.detectors.communication import COLLECTIVE_METRICS, compare_collectives
from holter.detectors.launch_checks import run_launch_checks
from holter.flops.peaks import Peaks
from holter.flops.throughput import run_throughput, throughput_json
from holter.json_values import plain
from holter.server.maintenance.select_points import select_points
from holter.server.schemas.launches import (
    DiagnosticView,
    LaunchChanges,
    LaunchSetting,
    RunCollectives,
    RunConfig,
    ThroughputReport,
    ThroughputSegment,
)
from holter.server.store import Store
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import SeriesPoints
from holter.types import Diagnostic, RunData, Series, SeriesKey

Result = TypeVar("Result")
RunVersion = tuple[int, int]

SHOWN_SETTINGS = 2000
SHOWN_CHANGES = 200
_MAX_COLLECTIVE_POINTS = 20_000_000
"""Points of collectives that are read for a comparison, about 640 MB."""
_CACHE_BYTES = 24 * 2**20
_DIAGNOSTIC_BYTES = 2000
_REPORTED_SERIES_BYTES = 2000
_COLLECTIVES_ROW_BYTES = 600
_PER_BUCKET = 4
"""Points that a reduced curve retains of each bucket: first, last, lowest and highest."""


class LaunchReader:
    """Computes answers about launches, and caches them by the version of the run.

    `peaks`: the peak TFLOPS of accelerators. All methods that read points raise CorruptDataError.
    """

    def __init__(self, store: Store, peaks: Peaks) -> None:
        self._store = store
        self._peaks = peaks
        self._cache = LruCache(_CACHE_BYTES)

    def config(self, run_id: int, q: str | None = None) -> RunConfig:
        """The settings of each launch, and all changes. `q`: part of a setting's name or value."""
        stated = self._store.config(run_id)
        return _settings_and_changes(stated, list_changes(stated), q)

    def environment(self, run_id: int, q: str | None = None) -> RunConfig:
        """The environment of each launch, and all changes. `q`: part of a name or value."""
        stated = self._store.environment(run_id)
        return _settings_and_changes(stated, list_environment_changes(stated), q)

    def diagnostics(self, run_id: int, version: RunVersion) -> list[DiagnosticView]:
        """The diagnostics of all launch checks, the most severe first."""

        def compute() -> tuple[list[DiagnosticView], int]:
            found = run_launch_checks(self._data(run_id), peaks=self._peaks)
            return [_diagnostic_view(each) for each in found], _DIAGNOSTIC_BYTES * (1 + len(found))

        return self._cached("diagnostics", run_id, version, compute)

    def throughput(self, run_id: int, version: RunVersion) -> ThroughputReport:
        """The throughput that a run reports, and Holter's own computation."""

        def compute() -> tuple[ThroughputReport, int]:
            report: ThroughputReport = plain(throughput_json(run_throughput(self._data(run_id), self._peaks)))
            return report, _REPORTED_SERIES_BYTES * (2 + len(report["reported"]))

        return self._cached("throughput", run_id, version, compute)

    def throughput_curve(self, run_id: int, quantity: str, points: int) -> list[ThroughputSegment]:
        """One of Holter's own figures of a run as a curve of about `points` points."""
        own = run_throughput(self._data(run_id), self._peaks).own
        curve = own.curve(quantity, getattr(own, quantity))
        return [] if curve is None else reduced_segments(curve, points)

    def collectives(self, run_id: int, version: RunVersion) -> RunCollectives:
        """The comparison of a run's collectives; reads only their series."""

        def compute() -> tuple[RunCollectives, int]:
            data, left_out = self._collectives_data(run_id)
            comparison: RunCollectives = plain(
                compare_collectives(data).as_json() | {"series_left_out": left_out}
            )
            rows = sum(len(value) for value in comparison.values() if isinstance(value, list))
            return comparison, _COLLECTIVES_ROW_BYTES * (1 + rows)

        return self._cached("collectives", run_id, version, compute)

    def _cached(
        self, name: str, run_id: int, version: RunVersion, compute: Callable[[], tuple[Result, int]]
    ) -> Result:
        """The cached result for a version of a run, else a newly computed one with its size in bytes."""
        cached = self._cache.get((name, run_id))
        if cached is not None and cached[0] == version:
            hit: Result = cached[1]
            return hit
        result, size = compute()
        self._cache.put((name, run_id), (version, result), size)
        return result

    def _data(self, run_id: int) -> RunData:
        return RunData(series=_LazySeries(self._store, run_id), config=self._store.config(run_id))

    def _collectives_data(self, run_id: int) -> tuple[RunData, int]:
        """The series of collectives, and how many exceeded `_MAX_COLLECTIVE_POINTS`."""
        summaries = [
            summary
            for summary in self._store.series(run_id)
            if summary.key.step_unit is not None and summary.key.metric in COLLECTIVE_METRICS
        ]
        keys, points = [], 0
        for summary in sorted(summaries, key=lambda summary: summary.key):
            points += summary.points
            if points <= _MAX_COLLECTIVE_POINTS:
                keys.append(summary.key)
        read = self._store.read(run_id, keys) if keys else {}
        series = {key: last_of_each_step(points) for key, points in read.items()}
        return RunData(series=series, config=self._store.config(run_id)), len(summaries) - len(keys)


class _LazySeries(Mapping[SeriesKey, Series]):
    """A run's series, each read at its first access, since checks access only few."""

    def __init__(self, store: Store, run_id: int) -> None:
        self._store = store
        self._run_id = run_id
        self._keys = dict.fromkeys(summary.key for summary in store.series(run_id))
        self._series: dict[SeriesKey, Series] = {}

    def __getitem__(self, key: SeriesKey) -> Series:
        if key not in self._keys:
            raise KeyError(key)
        if key not in self._series:
            self._series[key] = last_of_each_step(self._store.read(self._run_id, [key])[key])
        return self._series[key]

    def __iter__(self) -> Iterator[SeriesKey]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def reduced_segments(series: Series, points: int) -> list[ThroughputSegment]:
    """A curve's segments, reduced to about `points` points together; every extreme remains.

    A segment belongs to one attempt, and is superseded completely or not at all. Points without a value are
    left out.
    """
    if not len(series):
        return []
    segments = between(series, int(series.step.min()), int(series.step.max())).segments
    finite = [(segment, np.isfinite(segment.value)) for segment in segments]
    total = sum(int(np.count_nonzero(mask)) for _, mask in finite)
    bucket = max(1, -(-_PER_BUCKET * total // points))
    return [_reduce(segment, mask, bucket) for segment, mask in finite if mask.any()]


def _reduce(
    segment: LineSegment, mask: np.ndarray[Any, np.dtype[np.bool_]], bucket: int
) -> ThroughputSegment:
    step, value = segment.step[mask], segment.value[mask]
    if bucket > _PER_BUCKET:
        no_clock = np.full(len(step), np.nan)
        protected = np.zeros(len(step), dtype=bool)
        retained = select_points(SeriesPoints(step, no_clock, value), bucket, protected)
        step, value = step[retained], value[retained]
    return {
        "attempt": segment.attempt,
        "ghost": segment.ghost,
        "step": step.tolist(),
        "value": value.tolist(),
    }


def _settings_and_changes(
    stated: ConfigByAttempt, changes: Sequence[Mapping[str, Any]], q: str | None
) -> RunConfig:
    settings = cast("list[LaunchSetting]", list_settings(stated))
    matches = [setting for setting in settings if q is None or _contains(setting, q.lower())]
    return {
        "attempts": attempts_with_config(stated),
        "settings": matches[:SHOWN_SETTINGS],
        "settings_count": len(matches),
        "changes": [
            LaunchChanges(
                attempt=change["attempt"],
                settings=change["settings"][:SHOWN_CHANGES],
                settings_count=len(change["settings"]),
            )
            for change in changes
        ],
    }


def _diagnostic_view(diagnostic: Diagnostic) -> DiagnosticView:
    return {
        "code": diagnostic.code,
        "attempt": diagnostic.attempt,
        "labels": dict(diagnostic.labels),
        "severity": diagnostic.severity,
        "summary": diagnostic.summary,
        "advice": diagnostic.advice,
        "evidence": plain(diagnostic.evidence),
    }


def _contains(setting: LaunchSetting, part: str) -> bool:
    """Whether a setting's name or one of its values contains a text, which is in lower case."""
    values = (str(value["value"]) for value in setting["values"])
    return part in setting["name"].lower() or any(part in value.lower() for value in values)
