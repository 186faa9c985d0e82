"""Converts arrays and tables, as notebooks have them, to the data of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holter.types import FloatArray, IntArray, RunData, Series, SeriesKey, labels_of

_STEP_COLUMNS = ("step", "Step", "_step", "global_step", "iteration")
_TIME_COLUMNS = ("wall_time", "_timestamp", "timestamp", "time")
_LONG_COLUMNS = ("metric", "value")
_SPARSE_SHARE = 0.2
"""Share of empty cells in a column of a data frame from which on they count as not logged."""


def run_from_arrays(
    steps: ArrayLike | Mapping[str, Any],
    values: ArrayLike | None,
    *,
    metric: str,
    attempt: ArrayLike | None,
    time: ArrayLike | None,
) -> RunData:
    """A run of one metric's arrays, or of the columns of a table.

    A table is a mapping of columns or a data frame. A wide table has a column `step`, optionally `attempt`
    and `wall_time`, and one column per metric; a long table has `step`, `metric`, `value`, and labels in the
    remaining columns. NaN is a value; a masked or None cell was not logged. Data frames write NaN for both:
    in a column of a data frame with gaps throughout, NaN means not logged. Raises ValueError on columns of
    different lengths, and on steps that are missing or not whole numbers.
    """
    table = None if values is not None else _columns(steps)
    if table is not None:
        return (
            _from_long_table(table)
            if set(_LONG_COLUMNS) <= table.keys()
            else _from_wide_table(table, is_frame=hasattr(steps, "columns"))
        )
    if values is None:
        raise ValueError("values: expected with steps, or a table of columns alone")
    columns: dict[str, Any] = {"step": steps, metric: values}
    if attempt is not None:
        columns["attempt"] = attempt
    if time is not None:
        columns["wall_time"] = time
    run = _from_wide_table(columns, is_frame=False)
    if not run.series:
        raise ValueError(f"{metric}: numbers expected")
    return run


def _columns(table: Any) -> dict[str, Any] | None:
    """Columns by name, including the index of a data frame that has the name of a step column."""
    names = getattr(table, "columns", None)
    if names is None:
        return {str(name): table[name] for name in table} if hasattr(table, "keys") else None
    columns = {str(name): table[name] for name in names}
    index = getattr(table, "index", None)
    if getattr(index, "name", None) in _STEP_COLUMNS:
        columns.setdefault(str(index.name), index)  # type: ignore[union-attr]
    return columns


def _from_wide_table(columns: Mapping[str, Any], *, is_frame: bool) -> RunData:
    step, attempt, time = _axes(columns)
    series = {}
    for name in sorted(columns.keys() - {*_STEP_COLUMNS, *_TIME_COLUMNS, "attempt"}):
        if len(columns[name]) != len(step):
            raise ValueError(
                f"{name}: {len(step)} values expected, as many as steps, not {len(columns[name])}"
            )
        cells = _cells(columns[name])
        if cells is not None:
            value, logged = cells
            if is_frame:
                logged = logged & ~_not_logged(value)
            key = SeriesKey(name)
            series[key] = _series(key, attempt[logged], step[logged], time[logged], value[logged])
    return RunData(series=series)


def _from_long_table(columns: Mapping[str, Any]) -> RunData:
    step, attempt, time = _axes(columns, continued=False)
    names = [np.asarray(columns["metric"]).astype(str)]
    labels = sorted(columns.keys() - {*_STEP_COLUMNS, *_TIME_COLUMNS, *_LONG_COLUMNS, "attempt"})
    names += [_texts(columns[label]) for label in labels]
    cells = _cells(columns["value"])
    if cells is None:
        raise ValueError("value: numbers expected")
    value, logged = cells
    distinct, series_index = np.unique(np.stack(names), axis=1, return_inverse=True)
    series = {}
    for number in range(distinct.shape[1]):
        metric, *label_values = distinct[:, number].tolist()
        pairs = zip(labels, label_values, strict=True)
        key = SeriesKey(metric, labels_of({label: text for label, text in pairs if text not in _EMPTY_TEXTS}))
        rows = (series_index.ravel() == number) & logged
        attempts = attempt[rows] if "attempt" in columns else _attempts(step[rows])
        series[key] = _series(key, attempts, step[rows], time[rows], value[rows])
    return RunData(series=series)


def _texts(column: Any) -> np.ndarray[Any, np.dtype[np.str_]]:
    """Label values as text: a rank in a column with empty cells is "3", not "3.0"."""
    raw = np.asarray(column)
    if raw.dtype.kind == "f" and not np.any(np.mod(raw[np.isfinite(raw)], 1)):
        return np.where(np.isfinite(raw), np.nan_to_num(raw).astype(np.int64).astype(str), "")
    return raw.astype(str)


_EMPTY_TEXTS = frozenset({"", "nan", "None", "<NA>"})


def _axes(columns: Mapping[str, Any], *, continued: bool = True) -> tuple[IntArray, IntArray, FloatArray]:
    """Step, attempt and wall time of each row [rows]; `continued`: a decreasing step begins an attempt."""
    step_name = next((name for name in _STEP_COLUMNS if name in columns), None)
    if step_name is None:
        raise ValueError(f"a column of steps expected, named one of {', '.join(_STEP_COLUMNS)}")
    step = _integers(step_name, columns[step_name])
    attempt = _attempts(step) if continued else np.zeros(len(step), dtype=np.int64)
    if columns.get("attempt") is not None:
        attempt = _integers("attempt", columns["attempt"])
        if attempt.shape != step.shape:
            raise ValueError(f"attempt: {len(step)} values expected, not {attempt.size}")
    time_name = next((name for name in _TIME_COLUMNS if name in columns), None)
    return step, attempt, np.full(len(step), np.nan) if time_name is None else _seconds(columns[time_name])


def _integers(name: str, values: Any) -> IntArray:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name}: a flat array expected, not one of shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}: finite numbers expected")
    if np.any(np.mod(numbers, 1)):
        raise ValueError(f"{name}: whole numbers expected, not {numbers[np.mod(numbers, 1) != 0][0]}")
    return numbers.astype(np.int64)


def _seconds(values: Any) -> FloatArray:
    """Unix seconds [rows], from numbers or dates."""
    raw = np.asarray(values)
    if raw.dtype == object:  # dates with a time zone
        return np.array(
            [cell.timestamp() if hasattr(cell, "timestamp") else cell for cell in raw], np.float64
        )
    if raw.dtype.kind != "M":
        return raw.astype(np.float64)
    seconds: FloatArray = raw.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(raw), np.nan, seconds)


def _attempts(step: IntArray) -> IntArray:
    return np.cumsum(np.diff(step, prepend=step[:1]) < 0).astype(np.int64)


def _cells(column: Any) -> tuple[FloatArray, np.ndarray[Any, np.dtype[np.bool_]]] | None:
    """The numbers of a column [rows] and which of its cells have one; None for a column of texts."""
    raw = np.asarray(column)
    logged = (
        ~np.ma.getmaskarray(np.ma.asarray(column)) if np.ma.isMaskedArray(column) else np.ones(len(raw), bool)
    )
    if raw.dtype == object:
        logged = logged & np.array([cell is not None and str(cell) != "<NA>" for cell in raw], dtype=bool)
    value = np.full(len(raw), np.nan)
    try:
        value[logged] = np.asarray(raw[logged], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return value, logged


def _not_logged(value: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which NaN cells of a column [rows] of a data frame were not logged: those of a column with gaps.

    All cells before the first number were not logged. After the last number, cells are NaN again if they are
    more than three times the longest gap before.
    """
    empty = np.isnan(value)
    numbers = np.flatnonzero(~empty)
    if not len(numbers):
        return empty
    first, last = int(numbers[0]), int(numbers[-1])
    if empty[first : last + 1].mean() < _SPARSE_SHARE:
        return np.arange(len(value)) < first
    longest = int(np.diff(numbers).max())
    if len(value) - 1 - last > 3 * longest:
        empty[last + 1 :] = False
    return empty


def _series(key: SeriesKey, attempt: IntArray, step: IntArray, time: FloatArray, value: FloatArray) -> Series:
    # the last write of a step counts: the row number as last key keeps the writes of one step in order
    order = np.lexsort((np.arange(len(step)), step, attempt))
    attempt, step, time, value = attempt[order], step[order], time[order], value[order]
    newest = np.ones(len(step), dtype=bool)
    newest[:-1] = (np.diff(step) != 0) | (np.diff(attempt) != 0)
    return Series(key=key, attempt=attempt[newest], step=step[newest], time=time[newest], value=value[newest])
