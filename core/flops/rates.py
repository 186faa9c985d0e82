"""Computes tokens a second from the speed that a run logs, by the units in the names of its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from holter.metric_units import SpeedMeasure, SpeedUnit, speed_measure_rank
from holter.roles import Role, role_of
from holter.types import FloatArray, Series, SeriesKey

_CANDIDATES = 8
"""Series of which the number of points is read, the best measures first."""
_SUMMARY_SHARE = 0.05
"""A series with no more than this share of another one's points is a summary, e.g. logged at the end."""


def speed_series(series: Mapping[SeriesKey, Series]) -> SeriesKey | None:
    """The series that measures best how fast a run trains and is not a mere summary; None where none does.

    Of a metric that many processes log, one process's series is taken. Only candidates are read.
    """
    by_metric: dict[str, tuple[int, int, SeriesKey]] = {}
    for key in series:
        rank = speed_measure_rank(key) if key.step_unit is None else None
        if rank is not None:
            ranked = (rank, len(key.labels), key)
            by_metric[key.metric] = min(by_metric.get(key.metric, ranked), ranked)
    candidates = [key for _, _, key in sorted(by_metric.values())[:_CANDIDATES]]
    most = max((len(series[key]) for key in candidates), default=0)
    return next((key for key in candidates if len(series[key]) > _SUMMARY_SHARE * most), None)


def batch_size_series(keys: Iterable[SeriesKey]) -> SeriesKey | None:
    """The series of the number of sequences of each step; None where a run has none."""
    return min((key for key in keys if role_of(key) is Role.BATCH_SIZE and not key.labels), default=None)


def batch_size_at(series: Series, batches: Series | None) -> FloatArray:
    """The number of sequences of each step of `series` [n], by the newest value up to it; NaN: unknown."""
    sizes = np.full(len(series), np.nan)
    if batches is None or not len(batches):
        return sizes
    for number in np.unique(series.attempt).tolist():
        in_attempt, logged = series.attempt == number, batches.attempt == number
        if not logged.any():
            continue
        steps, values = batches.step[logged], batches.value[logged]
        index = np.searchsorted(steps, series.step[in_attempt], side="right") - 1
        sizes[in_attempt] = values[np.maximum(index, 0)]
    return sizes


def tokens_per_second(
    values: FloatArray, unit: SpeedUnit, *, sequence: float | None, batch: FloatArray
) -> FloatArray | None:
    """Tokens a second [n], of one device where the unit is per device.

    `sequence` is the length of a sequence in tokens, `batch` [n] the tokens of each step. Returns None where
    one of them is needed and unknown.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if unit.measured is SpeedMeasure.TOKENS:
            return values
        if unit.measured is SpeedMeasure.SEQUENCES:
            return None if sequence is None else values * sequence
        if not np.isfinite(batch).any():
            return None
        if unit.measured is SpeedMeasure.STEPS:
            return values * batch
        scale = 1e-3 if unit.measured is SpeedMeasure.MILLISECONDS else 1.0
        return np.where(values > 0, batch / (values * scale), np.nan)
