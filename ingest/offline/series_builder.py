"""Batches of a run put together as its series, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from holter.attempts import Attempts
from holter.attempts.config import ConfigByAttempt, config_by_attempt
from holter.types import Batch, ConfigKey, ConfigValue, FloatArray, IntArray, Series, SeriesKey


@dataclass(slots=True)
class _Parts:
    """The stretches of one series, in the order in which they were read."""

    attempt: list[IntArray] = field(default_factory=list)
    step: list[IntArray] = field(default_factory=list)
    time: list[FloatArray] = field(default_factory=list)
    value: list[FloatArray] = field(default_factory=list)


class SeriesBuilder:
    """Takes batches in the order in which they were logged, up to `until_step` (that one included)."""

    def __init__(self, *, until_step: int | None = None) -> None:
        self._until = until_step
        self._attempts = Attempts()
        self._parts: dict[SeriesKey, _Parts] = {}
        self._settled: dict[ConfigKey, dict[int, ConfigValue]] = {}

    def add(self, writer: str, batch: Batch) -> None:
        """Take a batch of one writer; to which attempts its rows belong is decided now."""
        for number, piece in self._attempts.split(writer, batch):
            self._add(number, piece)
            if self._until is None or not len(piece.steps) or piece.steps[0] <= self._until:
                for key, value in piece.config.items():
                    self._settled.setdefault(key, {})[number] = value

    def config(self) -> ConfigByAttempt:
        """What has been said of the launches besides, in the order of the keys."""
        return config_by_attempt(self._settled, self._attempts.pending_config(), self._attempts.started)

    def series(self) -> dict[SeriesKey, Series]:
        """What has been taken, in the order of the keys."""
        found = {key: _series(key, self._parts[key]) for key in sorted(self._parts)}
        return found if self._until is None else _up_to_training(found)

    def _add(self, number: int, batch: Batch) -> None:
        for column in batch.columns:
            rows = np.arange(len(batch.steps)) if column.rows is None else column.rows
            step, time, value = batch.steps[rows], batch.times[rows], column.values
            if self._until is not None and not column.key.has_clock_steps:
                kept = step <= self._until
                step, time, value = step[kept], time[kept], value[kept]
            if len(step):
                mine = self._parts.setdefault(column.key, _Parts())
                mine.attempt.append(np.full(len(step), number, dtype=np.int64))
                mine.step.append(step)
                mine.time.append(time)
                mine.value.append(value)


def count_attempts(series: dict[SeriesKey, Series]) -> int:
    """How many attempts these series tell of."""
    return len({number for one in series.values() for number in np.unique(one.attempt).tolist()})


def _up_to_training(series: dict[SeriesKey, Series]) -> dict[SeriesKey, Series]:
    """The series, those that go by the clock up to the last moment of the others."""
    telling = [one.time for key, one in series.items() if key.step_unit is None]
    last = max((float(np.nanmax(time)) for time in telling if not np.isnan(time).all()), default=np.inf)
    found = {}
    for key, one in series.items():
        rows = ~(one.time > last) if key.has_clock_steps else np.full(len(one), True)
        if rows.all():
            found[key] = one
        elif rows.any():
            parts = one.attempt[rows], one.step[rows], one.time[rows], one.value[rows]
            found[key] = Series(key=key, attempt=parts[0], step=parts[1], time=parts[2], value=parts[3])
    return found


def _series(key: SeriesKey, parts: _Parts) -> Series:
    """The points in order; of several at one step of one attempt the newest, by time, then as read."""
    attempt, step = np.concatenate(parts.attempt), np.concatenate(parts.step)
    time, value = np.concatenate(parts.time), np.concatenate(parts.value)
    order = np.lexsort((np.where(np.isnan(time), -np.inf, time), step, attempt))
    attempt, step = attempt[order], step[order]
    last = np.append((attempt[1:] != attempt[:-1]) | (step[1:] != step[:-1]), True)
    arrays = attempt[last], step[last], time[order][last], value[order][last]
    for array in arrays:
        array.flags.writeable = False
    return Series(key=key, attempt=arrays[0], step=arrays[1], time=arrays[2], value=arrays[3])
