"""The value of a series at a step: where a step has several points, the last one."""

from __future__ import annotations

import numpy as np

from holter.types import FloatArray, IntArray, Series


def time_order(times: FloatArray) -> FloatArray:
    """The sort key of wall times: points without a clock are before those with one."""
    unknown = np.isnan(times)
    return np.where(unknown, -np.inf, times) if unknown.any() else times


def last_indices(attempt: IntArray, step: IntArray) -> IntArray | None:
    """The index of the last point of each step of each attempt; None where each step has one point.

    Points are ordered by attempt, step and time.
    """
    last = (step[1:] != step[:-1]) | (attempt[1:] != attempt[:-1])
    return None if last.all() else np.flatnonzero(np.append(last, True))


def last_of_each_step(series: Series) -> Series:
    """The series with one point for each step of an attempt, the last one: what detectors see."""
    last = last_indices(series.attempt, series.step)
    if last is None:
        return series
    result = Series(
        key=series.key,
        attempt=series.attempt[last],
        step=series.step[last],
        time=series.time[last],
        value=series.value[last],
    )
    for column in (result.attempt, result.step, result.time, result.value):
        column.flags.writeable = False
    return result
