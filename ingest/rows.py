"""Rows of logs, one per log call, and their conversion to the columns of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from holter.types import NO_CONFIG, Batch, Column, Config, Labels, SeriesKey


class LogRow(NamedTuple):
    """Values logged in one call. `time` is in Unix seconds, NaN without a clock; all values have `labels`.

    `begins`: a new launch begins with it, whatever its step is. `is_provisional`: a later row may replace it:
    its step is not complete, or its line was drawn over another.
    """

    step: int
    time: float
    values: Mapping[str, float]
    labels: Labels = ()
    attempt: str | None = None
    begins: bool = False
    is_provisional: bool = False


def row_to_json(row: LogRow) -> list[Any]:
    """A row as JSON-able values."""
    time = None if isnan(row.time) else row.time
    stored = [row.step, time, dict(row.values), row.labels, row.attempt, row.begins]
    return [*stored, True] if row.is_provisional else stored


def row_from_json(stored: Sequence[Any]) -> LogRow:
    """The row from what `row_to_json` returned."""
    step, time, values, labels, *more = stored
    pairs = tuple((name, value) for name, value in labels)
    return LogRow(step, nan if time is None else time, values, pairs, *more)


def batch_from_rows(rows: Sequence[LogRow], *, config: Config = NO_CONFIG, restarts: bool = False) -> Batch:
    """A batch of the rows of one attempt, in their order; `config` was logged before them.

    `restarts`: a new launch begins with the first row. Other rows that begin one are those of other batches.
    """
    return Batch(
        steps=np.array([row.step for row in rows], dtype=np.int64),
        times=np.array([row.time for row in rows], dtype=np.float64),
        columns=_uniform_columns(rows) or _sparse_columns(rows),
        attempt=rows[0].attempt if rows else None,
        restarts=restarts,
        config=config,
    )


def _uniform_columns(rows: Sequence[LogRow]) -> Sequence[Column]:
    """The columns of rows that all have the same metrics in the same order; empty for other rows."""
    names, labels = tuple(rows[0].values) if rows else (), rows[0].labels if rows else ()
    if any(tuple(row.values) != names or row.labels != labels for row in rows):
        return ()
    values = np.array([tuple(row.values.values()) for row in rows], dtype=np.float64)
    return tuple(
        Column(key=SeriesKey(metric, labels), values=np.ascontiguousarray(values[:, index]))
        for index, metric in enumerate(names)
    )


def _sparse_columns(rows: Sequence[LogRow]) -> Sequence[Column]:
    """The columns of any rows."""
    columns: dict[Labels, dict[str, tuple[list[int], list[float]]]] = {}
    for index, row in enumerate(rows):
        by_metric = columns.setdefault(row.labels, {})
        for metric, value in row.values.items():
            if metric not in by_metric:
                by_metric[metric] = ([], [])
            indices, values = by_metric[metric]
            indices.append(index)
            values.append(value)
    return tuple(
        Column(
            key=SeriesKey(metric, labels),
            values=np.array(values, dtype=np.float64),
            rows=None if len(indices) == len(rows) else np.array(indices, dtype=np.int64),
        )
        for labels, by_metric in columns.items()
        for metric, (indices, values) in by_metric.items()
    )


def first_launch(rows: list[LogRow]) -> tuple[list[LogRow], list[LogRow]]:
    """The rows up to the first one behind others with which a launch begins, and the rest."""
    end = next((number for number, row in enumerate(rows) if row.begins and number), len(rows))
    return rows[:end], rows[end:]
