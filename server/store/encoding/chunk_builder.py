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
from holter.server.store.encoding.merge import latest_write_indices
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
        self._merged_timelines: dict[
            tuple[int, ...], tuple[IntArray, FloatArray, IntArray | None, object]
        ] = {}

    def merge(self, older: SeriesPoints, newer: SeriesPoints) -> SeriesPoints:
        """Merge two pieces of a series into one with ascending steps; of two writes of a step the newer
        wins.
        """
        inputs = (older.step, older.time, newer.step, newer.time)
        merged = self._merged_timelines.get(tuple(map(id, inputs)))
        if merged is None:
            steps = np.concatenate((older.step, newer.step))
            times = np.concatenate((older.time, newer.time))
            newest = latest_write_indices(steps)
            if newest is not None:
                steps, times = steps[newest], times[newest]
            merged = self._merged_timelines[tuple(map(id, inputs))] = (steps, times, newest, inputs)
        steps, times, newest, _ = merged
        values = np.concatenate((older.value, newer.value))
        return SeriesPoints(steps, times, values if newest is None else values[newest])

    def add(
        self, attempt: int, series_id: int, points: SeriesPoints, *, removed: int = 0, last: bool = True
    ) -> None:
        """Add chunks of a series' points.

        If they are the series' `last` points, full chunks come first, else all have about the same size.
        `removed`: how many points were removed by downsampling.
        """
        size = len(points.step)
        if not last:
            piece_count = -(-size // MAX_CHUNK_POINTS)
            bounds = [size * index // piece_count for index in range(piece_count + 1)]
        else:
            bounds = [*range(0, size, MAX_CHUNK_POINTS), size]
        for start, stop in pairwise(bounds):
            self.rows.append(self._row(attempt, series_id, points, start, stop, removed if start == 0 else 0))

    def _row(
        self, attempt: int, series_id: int, points: SeriesPoints, start: int, stop: int, removed: int
    ) -> dict[str, Any]:
        piece = SeriesPoints._make(column[start:stop] for column in points)
        finite = np.isfinite(piece.value)
        all_finite = bool(finite.all())
        values = piece.value if all_finite else piece.value[finite]
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
