"""Charts: reduces series to what a screen can show, reading as little as that takes.

Reduced curves consist of real points, every extreme among them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.attempts.superseded import AttemptSpan, superseded_points
from holter.server.store.cache import LruCache
from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.merge import join_points
from holter.server.store.encoding.pyramid import (
    BUCKET,
    MIN_PYRAMID_POINTS,
    Buckets,
    concatenate_buckets,
    merge_buckets,
    single_point_buckets,
)
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot, StepRange, chunks_by_series
from holter.server.store.types import CurveBand, CurveSegment, ReducedSeries
from holter.types import FloatArray, IntArray, SeriesKey

_INT64_MAX = np.iinfo(np.int64).max
_MAX_LISTED_NONFINITE = 1000
_NO_POINTS = SeriesPoints(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


def bin_edges(first: int, last: int, bins: int) -> IntArray:
    """Return the first step of each bin when [first, last] is divided into at most `bins` of equal width."""
    width = last - first + 1
    if width < _INT64_MAX // bins:
        return first + np.arange(bins) * width // bins
    # Python integers, since these products overflow int64
    return np.array([first + index * width // bins for index in range(bins)], dtype=np.int64)


def reduce_segment(attempt: int, *, ghost: bool, buckets: Buckets, bins: IntArray | None) -> CurveSegment:
    """Return buckets in step order as one segment, reduced to one bucket per bin.

    `bins` are the first steps of the bins, or None for no reduction: each bucket is a single point then.
    """
    if bins is None:
        return CurveSegment(
            attempt=attempt, ghost=ghost, step=buckets.low_step, time=buckets.low_time, value=buckets.low
        )
    starts = np.searchsorted(buckets.step, bins)
    starts[0] = 0  # the curve may begin before the first bin: no bucket is left out
    starts = starts[np.append(True, starts[1:] != starts[:-1]) & (starts < len(buckets.step))]
    reduced = merge_buckets(buckets, starts)
    step, time, value = _extreme_points(reduced, buckets)
    return CurveSegment(
        attempt=attempt,
        ghost=ghost,
        step=step,
        time=time,
        value=value,
        band=CurveBand(step=reduced.step, minimum=reduced.low, maximum=reduced.high, mean=reduced.mean),
    )


def _extreme_points(reduced: Buckets, buckets: Buckets) -> tuple[IntArray, FloatArray, FloatArray]:
    """The extremes of all buckets with the first and the last point, without duplicates, in step order."""
    low_first = (reduced.low_step < reduced.high_step) | (
        (reduced.low_step == reduced.high_step) & ~(reduced.low_time > reduced.high_time)
    )

    def column(low: NDArray[Any], high: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
        pairs = np.stack((np.where(low_first, low, high), np.where(low_first, high, low)), axis=1)
        return np.concatenate((ends[:1], pairs.reshape(-1), ends[-1:]))

    step = column(reduced.low_step, reduced.high_step, buckets.low_step)
    time = column(reduced.low_time, reduced.high_time, buckets.low_time)
    value = column(reduced.low, reduced.high, buckets.low)
    # points of one step differ by time or value; two without a clock and of equal value look the same
    same_time = (time[1:] == time[:-1]) | (np.isnan(time[1:]) & np.isnan(time[:-1]))
    distinct = np.append(True, (step[1:] != step[:-1]) | (value[1:] != value[:-1]) | ~same_time)
    return step[distinct], time[distinct], value[distinct]


def read_chart(
    snapshot: RunSnapshot, keys: Collection[SeriesKey], steps: StepRange, points: int, cache: LruCache
) -> list[ReducedSeries]:
    """Return these series reduced to about `points` points each, in key order, using the cache."""
    cache_key = ("chart", snapshot.run_id, tuple(sorted(keys)), steps, points)
    cached = cache.get(cache_key)
    if cached is not None and cached[0] == snapshot.version:
        charts: list[ReducedSeries] = cached[1]
        return charts
    charts = _reduce_series(snapshot, keys, steps, points)
    cache.put(cache_key, (snapshot.version, charts), sum(chart.size for chart in charts))
    return charts


def _reduce_series(
    snapshot: RunSnapshot, keys: Collection[SeriesKey], steps: StepRange, points: int
) -> list[ReducedSeries]:
    names = snapshot.series(keys)
    spans = snapshot.spans()
    rows, blobs = snapshot.chunks_and_pyramids(names, steps)
    chunks = chunks_by_series(rows)
    log = snapshot.log_points(names, steps)
    plans = {
        series_id: _SeriesReduction(chunks.get(series_id, []), log.get(series_id, {}), spans, steps, points)
        for series_id in names
    }
    full_points = snapshot.points([row for plan in plans.values() for row in plan.full_chunks])
    bucket_sets = snapshot.pyramids([row for plan in plans.values() for row in plan.pyramid_chunks], blobs)
    pyramids: dict[int, dict[int, Buckets]] = {}
    for (series_id, attempt), buckets in bucket_sets.items():
        pyramids.setdefault(series_id, {})[attempt] = buckets
    return [
        plans[series_id].reduce(key, full_points, pyramids.get(series_id, {}))
        for series_id, key in names.items()
    ]


class _SeriesReduction:
    """How one series is reduced: which chunks are read in full, and which only as pyramids."""

    def __init__(
        self,
        rows: Sequence[ChunkRow],
        log: Mapping[int, SeriesPoints],
        spans: Sequence[AttemptSpan],
        steps: StepRange,
        points: int,
    ) -> None:
        self._log = {attempt: steps.clip(log_points) for attempt, log_points in log.items()}
        self._spans, self._steps = spans, steps
        self._bins = max(1, points // 2)
        self._limit = max(points, 2)
        self.full_chunks = list(rows)
        self._removed = sum(row.logged - row.points for row in rows)
        self.pyramid_chunks: list[ChunkRow] = []
        # with a bucket for every other bin, its two extremes still give the requested number of points
        if sum(row.points for row in rows) >= self._bins * BUCKET // 2:
            self._select_chunks(rows)

    def _select_chunks(self, rows: Sequence[ChunkRow]) -> None:
        self.full_chunks = []
        listed = 0
        for attempt in sorted({row.attempt for row in rows}):
            attempt_rows = sorted(
                (row for row in rows if row.attempt == attempt), key=lambda row: row.step_min
            )
            for row, needed in zip(attempt_rows, self._needs_points(attempt, attempt_rows), strict=True):
                list_nonfinite = row.nonfinite > 0 and listed < _MAX_LISTED_NONFINITE
                listed += row.nonfinite if list_nonfinite else 0
                (self.full_chunks if needed or list_nonfinite else self.pyramid_chunks).append(row)

    def _needs_points(self, attempt: int, rows: Sequence[ChunkRow]) -> NDArray[np.bool_]:
        """Which chunks of an attempt (rows by first step) a pyramid cannot represent.

        These have no pyramid, are cut by the range, contain steps of the log, or contain the end of a
        segment.
        """
        first = np.array([row.step_min for row in rows], dtype=np.int64)
        last = np.array([row.step_max for row in rows], dtype=np.int64)
        required = np.array(
            [row.points - row.nonfinite < MIN_PYRAMID_POINTS or not self._steps.contains(row) for row in rows]
        )
        if attempt in self._log:
            log_steps = self._log[attempt].step
            required |= np.searchsorted(log_steps, first) < np.searchsorted(log_steps, last, side="right")
        for edge in _ghost_edges(attempt, self._spans):
            required |= (first < edge) & (edge <= last)
        return required

    def reduce(
        self,
        key: SeriesKey,
        full_points: Mapping[int, SeriesPoints],
        buckets_by_attempt: Mapping[int, Buckets],
    ) -> ReducedSeries:
        """Return the reduced series, given the points of its full chunks by id, and its pyramids by
        attempt.
        """
        nonfinite: list[tuple[int, int, float]] = []
        count = sum(row.points for row in self.pyramid_chunks)
        nonfinite_count = sum(row.nonfinite for row in self.pyramid_chunks)
        curves: dict[int, Buckets] = {}
        for attempt in sorted(
            {row.attempt for row in (*self.full_chunks, *self.pyramid_chunks)} | self._log.keys()
        ):
            points = self._points(attempt, full_points)
            count += len(points.step)
            finite = np.isfinite(points.value)
            nonfinite_index = np.flatnonzero(~finite)
            nonfinite_count += len(nonfinite_index)
            listed = nonfinite_index[: _MAX_LISTED_NONFINITE - len(nonfinite)]
            nonfinite += [
                (attempt, *pair)
                for pair in zip(points.step[listed].tolist(), points.value[listed].tolist(), strict=True)
            ]
            finite_points = single_point_buckets(
                points
                if len(nonfinite_index) == 0
                else SeriesPoints._make(column[finite] for column in points)
            )
            parts = [
                part
                for part in (finite_points, buckets_by_attempt.get(attempt))
                if part is not None and len(part.step)
            ]
            curves[attempt] = _sort_buckets(parts) if parts else finite_points
        spans = self._spans if key.step_unit is None else ()
        shown_curves = {attempt: curve for attempt, curve in curves.items() if len(curve.step)}
        segments = self._segments(shown_curves, spans)
        return ReducedSeries(
            key=key,
            count=count,
            reduced=any(segment.band is not None for segment in segments),
            segments=segments,
            nonfinite=nonfinite,
            nonfinite_count=nonfinite_count,
            downsampled=self._removed,
        )

    def _points(self, attempt: int, full_points: Mapping[int, SeriesPoints]) -> SeriesPoints:
        rows = sorted((row for row in self.full_chunks if row.attempt == attempt), key=attrgetter("step_min"))
        pieces = [self._steps.clip(full_points[row.id]) for row in rows]
        if attempt in self._log:
            pieces.append(self._log[attempt])
        return join_points(pieces) if pieces else _NO_POINTS

    def _segments(self, curves: Mapping[int, Buckets], spans: Sequence[AttemptSpan]) -> list[CurveSegment]:
        if not curves:
            return []
        is_reduced = (
            bool(self.pyramid_chunks) or sum(len(curve.step) for curve in curves.values()) > self._limit
        )
        first = min(int(curve.step[0]) for curve in curves.values())
        last = max(int(curve.step[-1]) for curve in curves.values())
        bins = bin_edges(first, last, self._bins) if is_reduced else None
        segments = []
        for attempt, curve in curves.items():
            ghost = _ghost_mask(attempt, curve.step, spans)
            bounds = [0, *(np.flatnonzero(ghost[1:] != ghost[:-1]) + 1).tolist(), len(ghost)]
            for start, stop in pairwise(bounds):
                piece = Buckets._make(column[start:stop] for column in curve)
                segments.append(reduce_segment(attempt, ghost=bool(ghost[start]), buckets=piece, bins=bins))
        return segments


def _ghost_edges(attempt: int, spans: Sequence[AttemptSpan]) -> list[int]:
    """The steps at which an attempt's points may become superseded, or stop being so."""
    newer = [span for span in spans if span.number > attempt]
    return sorted({step for span in newer for step in (span.first_step, span.last_step + 1)})


def _ghost_mask(attempt: int, step: IntArray, spans: Sequence[AttemptSpan]) -> NDArray[np.bool_]:
    if all(span.number <= attempt for span in spans):
        return np.zeros(len(step), dtype=bool)
    return superseded_points(np.full(len(step), attempt), step, spans)


def _sort_buckets(parts: Sequence[Buckets]) -> Buckets:
    joined = concatenate_buckets(parts)
    if np.all(joined.step[1:] >= joined.step[:-1]):
        return joined
    order: IntArray = np.argsort(joined.step, kind="stable")
    return Buckets._make(column[order] for column in joined)
