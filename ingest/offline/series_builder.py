"""Builds the series of a run in memory from its batches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from holter.attempts import Attempts
from holter.attempts.config import ConfigByAttempt, config_by_attempt
from holter.attempts.step_values import last_of_each_step, time_order
from holter.types import Batch, ConfigKey, ConfigValue, FloatArray, IntArray, Series, SeriesKey


@dataclass(slots=True)
class _SeriesParts:
    """The segments of one series, in the order in which they were read."""

    attempt: list[IntArray] = field(default_factory=list)
    step: list[IntArray] = field(default_factory=list)
    time: list[FloatArray] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)


class SeriesBuilder:
    """Takes batches in the order in which they were logged, up to `until_step` (inclusive)."""

    def __init__(self, *, until_step: int | None = None) -> None:
        self._until = until_step
        self._attempts = Attempts()
        self._parts: dict[SeriesKey, _SeriesParts] = {}
        self._config: dict[ConfigKey, dict[int, ConfigValue]] = {}

    def add(self, writer: str, batch: Batch) -> None:
        """Add a batch of one writer, and decide which attempts its rows belong to."""
        for number, piece in self._attempts.split(writer, batch):
            self._add(number, piece)
            if self._until is None or not len(piece.steps) or piece.steps[0] <= self._until:
                for key, value in piece.config.items():
                    self._config.setdefault(key, {})[number] = value

    def config(self) -> ConfigByAttempt:
        """The settings of the launches, in the order of the keys."""
        return config_by_attempt(self._config, self._attempts.pending_config(), self._attempts.started)

    def series(self) -> dict[SeriesKey, Series]:
        """The series so far, in the order of the keys: what detectors see, the last point of each step."""
        return {key: last_of_each_step(points) for key, points in self.all_points().items()}

    def all_points(self) -> dict[SeriesKey, Series]:
        """The series so far with every point, also where a step of an attempt has several."""
        series = {key: _build(key, self._parts[key]) for key in sorted(self._parts)}
        return series if self._until is None else _cut_at_training_end(series)

    def _add(self, number: int, batch: Batch) -> None:
        for column in batch.columns:
            rows = np.arange(len(batch.steps)) if column.rows is None else column.rows
            step, time, value = batch.steps[rows], batch.times[rows], column.values
            if self._until is not None and not column.key.has_clock_steps:
                within = step <= self._until
                step, time, value = step[within], time[within], value[within]
            if len(step):
                parts = self._parts.setdefault(column.key, _SeriesParts())
                parts.attempt.append(np.full(len(step), number, dtype=np.int64))
                parts.step.append(step)
                parts.time.append(time)
                parts.value.append(value)


def count_attempts(series: dict[SeriesKey, Series]) -> int:
    """The number of attempts that have points in these series."""
    return len({number for points in series.values() for number in np.unique(points.attempt).tolist()})


def _cut_at_training_end(series: dict[SeriesKey, Series]) -> dict[SeriesKey, Series]:
    """The series; those on the wall clock end at the last time of the training's."""
    training = [points.time for key, points in series.items() if key.step_unit is None]
    last = max((float(np.nanmax(time)) for time in training if not np.isnan(time).all()), default=np.inf)
    result = {}
    for key, points in series.items():
        rows = ~(points.time > last) if key.has_clock_steps else np.full(len(points), True)
        if rows.all():
            result[key] = points
        elif rows.any():
            arrays = points.attempt[rows], points.step[rows], points.time[rows], points.value[rows]
            result[key] = Series(key=key, attempt=arrays[0], step=arrays[1], time=arrays[2], value=arrays[3])
    return result


def _build(key: SeriesKey, parts: _SeriesParts) -> Series:
    """The points in the order of attempt, step and time, then as read."""
    attempt, step = np.concatenate(parts.attempt), np.concatenate(parts.step)
    time, value = np.concatenate(parts.time), np.concatenate(parts.value)
    order = np.lexsort((time_order(time), step, attempt))
    arrays = attempt[order], step[order], time[order], value[order]
    for array in arrays:
        array.flags.writeable = False
    return Series(key=key, attempt=arrays[0], step=arrays[1], time=arrays[2], value=arrays[3])
