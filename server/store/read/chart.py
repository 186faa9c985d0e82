"""Charts: what of a series is drawn, read from as little as shows it truthfully.

Reduces curves to what a screen can show: real points, every extreme among them.
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

_MOST = np.iinfo(np.int64).max


def bin_edges(first: int, last: int, bins: int) -> IntArray:
    """The first step of each bin, when [first, last] is cut into at most `bins` of equal width."""
    width = last - first + 1
    if width < _MOST // bins:
        return first + np.arange(bins) * width // bins
    # as Python's integers: these do not fit into 64 bits
    return np.array([first + at * width // bins for at in range(bins)], dtype=np.int64)


def reduce_segment(attempt: int, *, ghost: bool, buckets: Buckets, bins: IntArray | None) -> CurveSegment:
    """Buckets in the order of their steps as one piece of curve, reduced to one bucket a bin.

    `bins` are the first steps of the bins; None where nothing is to be reduced: then each bucket is a
    single point.
    """
    if bins is None:
        return CurveSegment(
            attempt=attempt, ghost=ghost, step=buckets.low_step, time=buckets.low_time, value=buckets.low
        )
    starts = np.searchsorted(buckets.step, bins)
    starts[0] = 0  # the curve may begin before the first bin does: no bucket is left out
    starts = starts[np.append(True, starts[1:] != starts[:-1]) & (starts < len(buckets.step))]
    reduced = merge_buckets(buckets, starts)
    step, time, value = _shown(reduced, buckets)
    return CurveSegment(
        attempt=attempt,
        ghost=ghost,
        step=step,
        time=time,
        value=value,
        band=CurveBand(step=reduced.step, minimum=reduced.low, maximum=reduced.high, mean=reduced.mean),
    )


def _shown(reduced: Buckets, buckets: Buckets) -> tuple[IntArray, FloatArray, FloatArray]:
    """The extremes of all buckets, with the first and the last point, each once, in the order of steps."""
    rising = reduced.low_step <= reduced.high_step

    def column(low: NDArray[Any], high: NDArray[Any], whole: NDArray[Any]) -> NDArray[Any]:
        pairs = np.stack((np.where(rising, low, high), np.where(rising, high, low)), axis=1)
        return np.concatenate((whole[:1], pairs.reshape(-1), whole[-1:]))

    step = column(reduced.low_step, reduced.high_step, buckets.low_step)
    once = np.append(True, step[1:] != step[:-1])
    time = column(reduced.low_time, reduced.high_time, buckets.low_time)
    value = column(reduced.low, reduced.high, buckets.low)
    return step[once], time[once], value[once]


_LISTED_NONFINITE = 1000
_NO_POINTS = SeriesPoints(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


def read_chart(
    snapshot: RunSnapshot, keys: Collection[SeriesKey], steps: StepRange, points: int, memory: LruCache
) -> list[ReducedSeries]:
    """Each of these series that the run has, with about `points` points at most, in the order of keys."""
    asked = ("chart", snapshot.run_id, tuple(sorted(keys)), steps, points)
    held = memory.get(asked)
    if held is not None and held[0] == snapshot.version:
        found: list[ReducedSeries] = held[1]
        return found
    found = _drawn(snapshot, keys, steps, points)
    memory.put(asked, (snapshot.version, found), sum(one.size for one in found))
    return found


def _drawn(
    snapshot: RunSnapshot, keys: Collection[SeriesKey], steps: StepRange, points: int
) -> list[ReducedSeries]:
    names = snapshot.series(keys)
    spans = snapshot.spans()
    rows, blobs = snapshot.chunks_and_pyramids(names, steps)
    chunks = chunks_by_series(rows)
    log = snapshot.recent(names, steps)
    plans = {
        number: _Plan(chunks.get(number, []), log.get(number, {}), spans, steps, points) for number in names
    }
    whole = snapshot.points([row for plan in plans.values() for row in plan.whole])
    coarse = snapshot.pyramids([row for plan in plans.values() for row in plan.coarse], blobs)
    pyramids: dict[int, dict[int, Buckets]] = {}
    for (number, attempt), buckets in coarse.items():
        pyramids.setdefault(number, {})[attempt] = buckets
    return [plans[number].draw(key, whole, pyramids.get(number, {})) for number, key in names.items()]


class _Plan:
    """How one series is drawn: which chunks are read in full, and of which the pyramid is enough."""

    def __init__(
        self,
        rows: Sequence[ChunkRow],
        log: Mapping[int, SeriesPoints],
        spans: Sequence[AttemptSpan],
        steps: StepRange,
        points: int,
    ) -> None:
        self._log = {attempt: steps.within(held) for attempt, held in log.items()}
        self._spans, self._steps = spans, steps
        self._bins = max(1, points // 2)
        self._limit = max(points, 2)
        self.whole = list(rows)
        self._removed = sum(row.logged - row.points for row in rows)
        self.coarse: list[ChunkRow] = []
        # with a bucket for every other bin, its two extremes are still as many points as were asked for
        if sum(row.points for row in rows) >= self._bins * BUCKET // 2:
            self._divide(rows)

    def _divide(self, rows: Sequence[ChunkRow]) -> None:
        self.whole = []
        listed = 0
        for attempt in sorted({row.attempt for row in rows}):
            mine = sorted((row for row in rows if row.attempt == attempt), key=lambda row: row.step_min)
            for row, needed in zip(mine, self._needed(attempt, mine), strict=True):
                listing = row.nonfinite > 0 and listed < _LISTED_NONFINITE
                listed += row.nonfinite if listing else 0
                (self.whole if needed or listing else self.coarse).append(row)

    def _needed(self, attempt: int, rows: Sequence[ChunkRow]) -> NDArray[np.bool_]:
        """Which chunks of an attempt a pyramid cannot stand for; rows by their first step.

        Those without one, those that the range cuts, those that points of the log stand among, and those
        in which a segment ends.
        """
        first = np.array([row.step_min for row in rows], dtype=np.int64)
        last = np.array([row.step_max for row in rows], dtype=np.int64)
        needed = np.array(
            [row.points - row.nonfinite < MIN_PYRAMID_POINTS or not self._steps.holds(row) for row in rows]
        )
        if attempt in self._log:
            logged = self._log[attempt].step
            needed |= np.searchsorted(logged, first) < np.searchsorted(logged, last, side="right")
        for edge in _edges(attempt, self._spans):
            needed |= (first < edge) & (edge <= last)
        return needed

    def draw(
        self, key: SeriesKey, whole: Mapping[int, SeriesPoints], coarse: Mapping[int, Buckets]
    ) -> ReducedSeries:
        """The series, given the points of its chunks by their id, and its pyramids by attempt."""
        nonfinite: list[tuple[int, int, float]] = []
        count = sum(row.points for row in self.coarse)
        nonfinite_count = sum(row.nonfinite for row in self.coarse)
        curves: dict[int, Buckets] = {}
        for attempt in sorted({row.attempt for row in (*self.whole, *self.coarse)} | self._log.keys()):
            points = self._points(attempt, whole)
            count += len(points.step)
            finite = np.isfinite(points.value)
            bad = np.flatnonzero(~finite)
            nonfinite_count += len(bad)
            listed = bad[: _LISTED_NONFINITE - len(nonfinite)]
            nonfinite += [
                (attempt, *pair)
                for pair in zip(points.step[listed].tolist(), points.value[listed].tolist(), strict=True)
            ]
            shown = single_point_buckets(
                points if len(bad) == 0 else SeriesPoints._make(column[finite] for column in points)
            )
            parts = [part for part in (shown, coarse.get(attempt)) if part is not None and len(part.step)]
            curves[attempt] = _in_order(parts) if parts else shown
        spans = self._spans if key.own_steps is None else ()
        shown_curves = {attempt: curve for attempt, curve in curves.items() if len(curve.step)}
        segments = self._segments(shown_curves, spans)
        return ReducedSeries(
            key=key,
            count=count,
            reduced=any(one.band is not None for one in segments),
            segments=segments,
            nonfinite=nonfinite,
            nonfinite_count=nonfinite_count,
            downsampled=self._removed,
        )

    def _points(self, attempt: int, whole: Mapping[int, SeriesPoints]) -> SeriesPoints:
        rows = sorted((row for row in self.whole if row.attempt == attempt), key=attrgetter("step_min"))
        pieces = [self._steps.within(whole[row.id]) for row in rows]
        if attempt in self._log:
            pieces.append(self._log[attempt])
        return join_points(pieces) if pieces else _NO_POINTS

    def _segments(self, curves: Mapping[int, Buckets], spans: Sequence[AttemptSpan]) -> list[CurveSegment]:
        if not curves:
            return []
        reduce = bool(self.coarse) or sum(len(curve.step) for curve in curves.values()) > self._limit
        first = min(int(curve.step[0]) for curve in curves.values())
        last = max(int(curve.step[-1]) for curve in curves.values())
        bins = bin_edges(first, last, self._bins) if reduce else None
        segments = []
        for attempt, curve in curves.items():
            ghost = _ghost(attempt, curve.step, spans)
            bounds = [0, *(np.flatnonzero(ghost[1:] != ghost[:-1]) + 1).tolist(), len(ghost)]
            for start, stop in pairwise(bounds):
                piece = Buckets._make(column[start:stop] for column in curve)
                segments.append(reduce_segment(attempt, ghost=bool(ghost[start]), buckets=piece, bins=bins))
        return segments


def _edges(attempt: int, spans: Sequence[AttemptSpan]) -> list[int]:
    """The steps at which an attempt's points may become ghosts, or stop being ones."""
    newer = [span for span in spans if span.number > attempt]
    return sorted({edge for span in newer for edge in (span.first_step, span.last_step + 1)})


def _ghost(attempt: int, step: IntArray, spans: Sequence[AttemptSpan]) -> NDArray[np.bool_]:
    if all(span.number <= attempt for span in spans):
        return np.zeros(len(step), dtype=bool)
    return superseded_points(np.full(len(step), attempt), step, spans)


def _in_order(parts: Sequence[Buckets]) -> Buckets:
    joined = concatenate_buckets(parts)
    if np.all(joined.step[1:] > joined.step[:-1]):
        return joined
    order: IntArray = np.argsort(joined.step, kind="stable")
    return Buckets._make(column[order] for column in joined)
