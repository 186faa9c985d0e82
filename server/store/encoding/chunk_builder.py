"""Cuts points into chunks: rows of the chunk table, and the timelines that they share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.chunk import (
    MAX_CHUNK_POINTS,
    encode_timeline,
    encode_values,
    timeline_digest,
)
from holter.server.store.encoding.merge import merged_indices
from holter.server.store.encoding.pyramid import encode_pyramid as encode_pyramid
from holter.types import FloatArray, IntArray


class ChunkBuilder:
    """Collects chunk `rows`, with a timeline's digest in place of its id, and `timelines` by digest.

    Metrics that were logged together share their arrays: digests and merges of these are computed once.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.timelines: dict[bytes, bytes] = {}
        # keyed by the arrays' addresses; the arrays are referenced here so that no address is reused
        self._digests: dict[tuple[int, ...], tuple[bytes, object]] = {}
        self._joined_timelines: dict[tuple[int, ...], tuple[IntArray, FloatArray, object]] = {}
        self._ordered_timelines: dict[tuple[int, bytes], tuple[IntArray, FloatArray]] = {}

    def merge(self, older: SeriesPoints, newer: SeriesPoints) -> SeriesPoints:
        """Merge two pieces of a series into one, in order and without repeats."""
        inputs = (older.step, older.time, newer.step, newer.time)
        key = tuple(map(id, inputs))
        if key not in self._joined_timelines:
            steps = np.concatenate((older.step, newer.step))
            times = np.concatenate((older.time, newer.time))
            self._joined_timelines[key] = (steps, times, inputs)
        steps, times, _ = self._joined_timelines[key]
        values = np.concatenate((older.value, newer.value))
        kept = merged_indices(SeriesPoints(steps, times, values))
        if kept is None:
            return SeriesPoints(steps, times, values)
        # which points repeat others depends on the values, and is mostly the same for all metrics
        order = (id(steps), kept.tobytes())
        if order not in self._ordered_timelines:
            self._ordered_timelines[order] = (steps[kept], times[kept])
        return SeriesPoints(*self._ordered_timelines[order], values[kept])

    def add(
        self, attempt: int, series_id: int, points: SeriesPoints, *, removed: int = 0, last: bool = True
    ) -> None:
        """Add chunks of a series' points.

        If they are the series' `last` points, full chunks come first, else all have about the same size.
        The points of one step stay in one chunk, however many there are. `removed`: how many points were
        removed by downsampling.
        """
        size = len(points.step)
        if not last:
            piece_count = -(-size // MAX_CHUNK_POINTS)
            bounds = [size * index // piece_count for index in range(piece_count + 1)]
        else:
            bounds = [*range(0, size, MAX_CHUNK_POINTS), size]
        for start, stop in pairwise(_between_steps(points.step, bounds)):
            self.rows.append(self._row(attempt, series_id, points, start, stop, removed if start == 0 else 0))

    def _row(
        self, attempt: int, series_id: int, points: SeriesPoints, start: int, stop: int, removed: int
    ) -> dict[str, Any]:
        piece = SeriesPoints._make(column[start:stop] for column in points)
        values = piece.value[np.isfinite(piece.value)]
        return {
            "series_id": series_id,
            "attempt": attempt,
            "step_min": int(piece.step[0]),
            "step_max": int(piece.step[-1]),
            "points": len(piece.step),
            "logged": len(piece.step) + removed,
            "nonfinite": len(piece.step) - len(values),
            "value_min": float(values.min()) if len(values) else None,
            "value_max": float(values.max()) if len(values) else None,
            "timeline_id": self._timeline(points, start, stop),
            "pyramid": encode_pyramid(piece),
            "payload": encode_values(piece.value),
        }

    def _timeline(self, points: SeriesPoints, start: int, stop: int) -> bytes:
        key = (id(points.step), id(points.time), start, stop)
        cached = self._digests.get(key)
        if cached is None:
            steps, times = points.step[start:stop], points.time[start:stop]
            cached = self._digests[key] = (timeline_digest(steps, times), points)
            if cached[0] not in self.timelines:
                self.timelines[cached[0]] = encode_timeline(steps, times)
        return cached[0]


def _between_steps(steps: IntArray, bounds: list[int]) -> list[int]:
    """Return the bounds, each moved to the beginning of its step; a chunk that a step fills ends with it."""
    moved = [0]
    for bound in bounds[1:-1]:
        if steps[bound] == steps[bound - 1]:
            begin = int(np.searchsorted(steps, steps[bound]))
            bound = begin if begin > moved[-1] else int(np.searchsorted(steps, steps[bound], side="right"))
        if moved[-1] < bound < bounds[-1]:
            moved.append(bound)
    return [*moved, bounds[-1]]
