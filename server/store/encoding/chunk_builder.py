"""Cuts points into chunks: rows of the chunk table, and the timelines that they share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from holter.server.store.encoding.block import Points
from holter.server.store.encoding.chunk import CHUNK, digest, encode_timeline, encode_values
from holter.server.store.encoding.merge import newest_writes
from holter.server.store.encoding.pyramid import encode as encode_pyramid
from holter.types import FloatArray, IntArray


class Cutter:
    """Gathers `rows`, in which a timeline's digest stands for its id, and `timelines` by their digests.

    What metrics that were logged together have in common is worked out once: they share the arrays.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.timelines: dict[bytes, bytes] = {}
        # by the arrays themselves, which are kept here: nothing else may get their address
        self._digests: dict[tuple[int, ...], tuple[bytes, object]] = {}
        self._joined: dict[tuple[int, ...], tuple[IntArray, FloatArray, IntArray | None, object]] = {}

    def join(self, older: Points, newer: Points) -> Points:
        """Both as one with ascending steps; of two writes of a step the newer one."""
        apart = (older.step, older.time, newer.step, newer.time)
        known = self._joined.get(tuple(map(id, apart)))
        if known is None:
            steps = np.concatenate((older.step, newer.step))
            times = np.concatenate((older.time, newer.time))
            newest = newest_writes(steps)
            if newest is not None:
                steps, times = steps[newest], times[newest]
            known = self._joined[tuple(map(id, apart))] = (steps, times, newest, apart)
        steps, times, newest, _ = known
        values = np.concatenate((older.value, newer.value))
        return Points(steps, times, values if newest is None else values[newest])

    def add(self, attempt: int, number: int, points: Points, *, thinned: int = 0, last: bool = True) -> None:
        """Chunks of a series' points, full ones first where they are its last, else of about one size.

        `thinned`: how many points fewer these are than were logged.
        """
        size = len(points.step)
        if not last:
            pieces = -(-size // CHUNK)
            bounds = [size * at // pieces for at in range(pieces + 1)]
        else:
            bounds = [*range(0, size, CHUNK), size]
        for start, stop in pairwise(bounds):
            self.rows.append(self._row(attempt, number, points, start, stop, thinned if start == 0 else 0))

    def _row(
        self, attempt: int, number: int, points: Points, start: int, stop: int, thinned: int
    ) -> dict[str, Any]:
        piece = Points._make(column[start:stop] for column in points)
        finite = np.isfinite(piece.value)
        whole = bool(finite.all())
        values = piece.value if whole else piece.value[finite]
        return {
            "series_id": number,
            "attempt": attempt,
            "step_min": int(piece.step[0]),
            "step_max": int(piece.step[-1]),
            "points": len(piece.step),
            "logged": len(piece.step) + thinned,
            "nonfinite": len(piece.step) - len(values),
            "value_min": float(values.min()) if len(values) else None,
            "value_max": float(values.max()) if len(values) else None,
            "timeline_id": self._timeline(points, start, stop),
            "pyramid": encode_pyramid(piece),
            "payload": encode_values(piece.value),
        }

    def _timeline(self, points: Points, start: int, stop: int) -> bytes:
        place = (id(points.step), id(points.time), start, stop)
        known = self._digests.get(place)
        if known is None:
            steps, times = points.step[start:stop], points.time[start:stop]
            known = self._digests[place] = (digest(steps, times), points)
            if known[0] not in self.timelines:
                self.timelines[known[0]] = encode_timeline(steps, times)
        return known[0]
