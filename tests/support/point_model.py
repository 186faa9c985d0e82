"""A model of what a store holds of a run: every distinct point once, in order."""

from __future__ import annotations

from math import isnan

import numpy as np

from holter.types import Batch, Series, SeriesKey

Point = tuple[int, int, bytes, bytes]
"""Attempt, step, and the bits of wall time and value."""


class PointModel:
    """Points by attempt, step, time (unknown ones first) and order of delivery; repeats are one point."""

    def __init__(self) -> None:
        self._delivered: dict[SeriesKey, dict[Point, int]] = {}
        self._count = 0

    def add(self, attempt: int, batch: Batch) -> None:
        for column in batch.columns:
            rows = range(len(batch.steps)) if column.rows is None else column.rows.tolist()
            points = self._delivered.setdefault(column.key, {})
            for row, value in zip(rows, column.values, strict=True):
                self._count += 1
                step, time = int(batch.steps[row]), np.float64(batch.times[row])
                points[attempt, step, time.tobytes(), value.tobytes()] = self._count

    def points(self) -> dict[SeriesKey, list[Point]]:
        return {
            key: sorted(points, key=lambda point, order=points: _place(point, order[point]))
            for key, points in sorted(self._delivered.items())
        }


def _place(point: Point, order: int) -> tuple[int, int, float, int]:
    attempt, step, time, _ = point
    moment = float(np.frombuffer(time)[0])
    return attempt, step, -np.inf if isnan(moment) else moment, order


def points_of_series(series: Series) -> list[Point]:
    """The points of a series as the model has them."""
    bits = ([part.tobytes() for part in column] for column in (series.time, series.value))
    return list(zip(series.attempt.tolist(), series.step.tolist(), *bits, strict=True))
