"""A run's data from plain arrays, as a notebook has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey

_STEPS = ("step", "Step", "_step", "iteration")
_TIMES = ("wall_time", "_timestamp", "timestamp", "time")


def as_run(
    steps: ArrayLike | Mapping[str, Any],
    values: ArrayLike | None,
    *,
    metric: str,
    attempt: ArrayLike | None,
    time: ArrayLike | None,
) -> RunData:
    """The arrays as a run. A NaN of a mapping's column is a value, a masked or None cell is not logged."""
    if hasattr(steps, "keys") and values is None:
        return _from_columns({str(name): steps[name] for name in steps})  # type: ignore[index,union-attr]
    if values is None:
        raise ValueError("values: expected beside steps, or a mapping of columns alone")
    columns: dict[str, Any] = {"step": steps, metric: values}
    if attempt is not None:
        columns["attempt"] = attempt
    if time is not None:
        columns["wall_time"] = time
    return _from_columns(columns)


def _from_columns(columns: Mapping[str, Any]) -> RunData:
    step_name = next((name for name in _STEPS if name in columns), None)
    if step_name is None:
        raise ValueError(f"a column of steps expected, named one of {', '.join(_STEPS)}")
    time_name = next((name for name in _TIMES if name in columns), None)
    step = _whole(step_name, columns[step_name])
    attempt = _attempts(step, columns.get("attempt"))
    time = np.full(len(step), np.nan) if time_name is None else np.asarray(columns[time_name], np.float64)
    others = columns.keys() - {step_name, time_name, "attempt"}
    for name in sorted(others):
        if len(columns[name]) != len(step):
            raise ValueError(
                f"{name}: {len(step)} values expected, as many as steps, not {len(columns[name])}"
            )
    keys = {SeriesKey(name): name for name in sorted(others)}
    series = {key: _series(key, attempt, step, time, columns[name]) for key, name in keys.items()}
    return RunData(series={key: one for key, one in series.items() if one is not None})


def _whole(name: str, values: Any) -> IntArray:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name}: a flat array expected, not one of shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}: finite numbers expected")
    return numbers.astype(np.int64)


def _attempts(step: IntArray, given: Any) -> IntArray:
    if given is not None:
        attempt = _whole("attempt", given)
        if attempt.shape != step.shape:
            raise ValueError(f"attempt: {len(step)} values expected, not {attempt.size}")
        return attempt
    return np.cumsum(np.diff(step, prepend=step[:1]) < 0).astype(np.int64)


def _series(
    key: SeriesKey, attempt: IntArray, step: IntArray, time: FloatArray, values: Any
) -> Series | None:
    raw = np.asarray(values)
    logged = np.ones(len(raw), dtype=bool)
    if raw.dtype == object:
        logged = np.array([value is not None for value in raw], dtype=bool)
    try:
        value = np.asarray(raw[logged], dtype=np.float64)
    except (TypeError, ValueError):
        return None  # a column of words is no metric
    attempt, step, time = attempt[logged], step[logged], time[logged]
    # the last write of a step counts: a stable sort keeps writes of one step in order
    order = np.lexsort((np.arange(len(step)), step, attempt))
    attempt, step, time, value = attempt[order], step[order], time[order], value[order]
    newest = np.ones(len(step), dtype=bool)
    newest[:-1] = (np.diff(step) != 0) | (np.diff(attempt) != 0)
    return Series(key=key, attempt=attempt[newest], step=step[newest], time=time[newest], value=value[newest])
