"""A run's data from plain arrays and tables, as a notebook has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey, labels_of

_STEPS = ("step", "Step", "_step", "global_step", "iteration")
_TIMES = ("wall_time", "_timestamp", "timestamp", "time")
_LONG = ("metric", "value")
_SPARSE = 0.2
"""Share of a data frame's cells from which on empty ones were not logged."""


def run_from_arrays(
    steps: ArrayLike | Mapping[str, Any],
    values: ArrayLike | None,
    *,
    metric: str,
    attempt: ArrayLike | None,
    time: ArrayLike | None,
) -> RunData:
    """The arrays as a run: one metric's, or the columns of a table.

    A table is a mapping of columns or a data frame: a column `step`, perhaps `attempt` and `wall_time`,
    and a column a metric; or, long, `step`, `metric`, `value`, and labels in the columns that are left.
    A NaN is a value, a masked or None cell was not logged. Data frames write NaN for both: there, a
    column with gaps throughout was not logged in them.
    """
    table = None if values is not None else _columns(steps)
    if table is not None:
        return (
            _long(table) if set(_LONG) <= table.keys() else _wide(table, is_frame=hasattr(steps, "columns"))
        )
    if values is None:
        raise ValueError("values: expected beside steps, or a table of columns alone")
    columns: dict[str, Any] = {"step": steps, metric: values}
    if attempt is not None:
        columns["attempt"] = attempt
    if time is not None:
        columns["wall_time"] = time
    run = _wide(columns, is_frame=False)
    if not run.series:
        raise ValueError(f"{metric}: numbers expected")
    return run


def _columns(table: Any) -> dict[str, Any] | None:
    """Columns by name; the index of a data frame too, where it is named as steps are."""
    names = getattr(table, "columns", None)
    if names is None:
        return {str(name): table[name] for name in table} if hasattr(table, "keys") else None
    columns = {str(name): table[name] for name in names}
    index = getattr(table, "index", None)
    if getattr(index, "name", None) in _STEPS:
        columns.setdefault(str(index.name), index)  # type: ignore[union-attr]
    return columns


def _wide(columns: Mapping[str, Any], *, is_frame: bool) -> RunData:
    step, attempt, time = _places(columns)
    series = {}
    for name in sorted(columns.keys() - {*_STEPS, *_TIMES, "attempt"}):
        if len(columns[name]) != len(step):
            raise ValueError(
                f"{name}: {len(step)} values expected, as many as steps, not {len(columns[name])}"
            )
        cells = _cells(columns[name])
        if cells is not None:
            value, logged = cells
            if is_frame:
                logged = logged & ~_gaps(value)
            key = SeriesKey(name)
            series[key] = _series(key, attempt[logged], step[logged], time[logged], value[logged])
    return RunData(series=series)


def _long(columns: Mapping[str, Any]) -> RunData:
    step, attempt, time = _places(columns, continued=False)
    names = [np.asarray(columns["metric"]).astype(str)]
    labels = sorted(columns.keys() - {*_STEPS, *_TIMES, *_LONG, "attempt"})
    names += [_words(columns[label]) for label in labels]
    cells = _cells(columns["value"])
    if cells is None:
        raise ValueError("value: numbers expected")
    value, logged = cells
    kinds, which = np.unique(np.stack(names), axis=1, return_inverse=True)
    series = {}
    for number in range(kinds.shape[1]):
        metric, *said = kinds[:, number].tolist()
        told = {label: word for label, word in zip(labels, said, strict=True) if word not in _NOTHING}
        key, mine = SeriesKey(metric, labels_of(told)), (which.ravel() == number) & logged
        where = attempt[mine] if "attempt" in columns else _attempts(step[mine])
        series[key] = _series(key, where, step[mine], time[mine], value[mine])
    return RunData(series=series)


def _words(column: Any) -> np.ndarray[Any, np.dtype[np.str_]]:
    """Labels as text: a rank that stands among empty cells is 3, not 3.0."""
    raw = np.asarray(column)
    if raw.dtype.kind == "f" and not np.any(np.mod(raw[np.isfinite(raw)], 1)):
        return np.where(np.isfinite(raw), np.nan_to_num(raw).astype(np.int64).astype(str), "")
    return raw.astype(str)


_NOTHING = frozenset({"", "nan", "None", "<NA>"})


def _places(columns: Mapping[str, Any], *, continued: bool = True) -> tuple[IntArray, IntArray, FloatArray]:
    """Step, attempt and wall time of each row [n]; `continued`: steps that go backwards begin an attempt."""
    step_name = next((name for name in _STEPS if name in columns), None)
    if step_name is None:
        raise ValueError(f"a column of steps expected, named one of {', '.join(_STEPS)}")
    step = _whole(step_name, columns[step_name])
    attempt = _attempts(step) if continued else np.zeros(len(step), dtype=np.int64)
    if columns.get("attempt") is not None:
        attempt = _whole("attempt", columns["attempt"])
        if attempt.shape != step.shape:
            raise ValueError(f"attempt: {len(step)} values expected, not {attempt.size}")
    time_name = next((name for name in _TIMES if name in columns), None)
    return step, attempt, np.full(len(step), np.nan) if time_name is None else _seconds(columns[time_name])


def _whole(name: str, values: Any) -> IntArray:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name}: a flat array expected, not one of shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}: finite numbers expected")
    if np.any(np.mod(numbers, 1)):
        raise ValueError(f"{name}: whole numbers expected, not {numbers[np.mod(numbers, 1) != 0][0]}")
    return numbers.astype(np.int64)


def _seconds(values: Any) -> FloatArray:
    """Unix seconds, of numbers or of dates."""
    raw = np.asarray(values)
    if raw.dtype == object:  # dates with a zone
        return np.array([one.timestamp() if hasattr(one, "timestamp") else one for one in raw], np.float64)
    if raw.dtype.kind != "M":
        return raw.astype(np.float64)
    seconds: FloatArray = raw.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(raw), np.nan, seconds)


def _attempts(step: IntArray) -> IntArray:
    return np.cumsum(np.diff(step, prepend=step[:1]) < 0).astype(np.int64)


def _cells(column: Any) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.bool_]]] | None:
    """The numbers of a column [n] and which of its cells have one; None for a column of words."""
    raw = np.asarray(column)
    logged = (
        ~np.ma.getmaskarray(np.ma.asarray(column)) if np.ma.isMaskedArray(column) else np.ones(len(raw), bool)
    )
    if raw.dtype == object:
        logged = logged & np.array([one is not None and str(one) != "<NA>" for one in raw], dtype=bool)
    value = np.full(len(raw), np.nan)
    try:
        value[logged] = np.asarray(raw[logged], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return value, logged


def _gaps(value: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which cells of a data frame's column are empty rather than NaN: those of a column with gaps throughout.

    Before its first number all are. After its last, cells that stay empty for three times the longest
    gap before are NaN again.
    """
    empty = np.isnan(value)
    numbers = np.flatnonzero(~empty)
    if not len(numbers):
        return empty
    first, last = int(numbers[0]), int(numbers[-1])
    if empty[first : last + 1].mean() < _SPARSE:
        return np.arange(len(value)) < first
    longest = int(np.diff(numbers).max())
    if len(value) - 1 - last > 3 * longest:
        empty[last + 1 :] = False
    return empty


def _series(key: SeriesKey, attempt: IntArray, step: IntArray, time: FloatArray, value: FloatArray) -> Series:
    # the last write of a step counts: a stable sort keeps writes of one step in order
    order = np.lexsort((np.arange(len(step)), step, attempt))
    attempt, step, time, value = attempt[order], step[order], time[order], value[order]
    newest = np.ones(len(step), dtype=bool)
    newest[:-1] = (np.diff(step) != 0) | (np.diff(attempt) != 0)
    return Series(key=key, attempt=attempt[newest], step=step[newest], time=time[newest], value=value[newest])
