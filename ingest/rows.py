"""Rows as logs tell them, one log call each, and the columns that a batch makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holter.types import NO_CONFIG, Batch, Column, Config, Labels, SeriesKey


class LogRow(NamedTuple):
    """What was logged at once. `time` is in Unix seconds, NaN without a clock; `labels` are every value's."""

    step: int
    time: float
    values: Mapping[str, float]
    labels: Labels = ()
    attempt: str | None = None


def batch_from_rows(rows: Sequence[LogRow], *, config: Config = NO_CONFIG) -> Batch:
    """The rows of one attempt as columns over them, in their order, and what was said of it before them."""
    return Batch(
        steps=np.array([row.step for row in rows], dtype=np.int64),
        times=np.array([row.time for row in rows], dtype=np.float64),
        columns=_alike(rows) or _unlike(rows),
        attempt=rows[0].attempt if rows else None,
        config=config,
    )


def _alike(rows: Sequence[LogRow]) -> Sequence[Column]:
    """The columns of rows that all name the same metrics in the same order, nothing of others."""
    names, labels = tuple(rows[0].values) if rows else (), rows[0].labels if rows else ()
    if any(tuple(row.values) != names or row.labels != labels for row in rows):
        return ()
    values = np.array([tuple(row.values.values()) for row in rows], dtype=np.float64)
    return tuple(
        Column(key=SeriesKey(metric, labels), values=np.ascontiguousarray(values[:, place]))
        for place, metric in enumerate(names)
    )


def _unlike(rows: Sequence[LogRow]) -> Sequence[Column]:
    """The columns of any rows."""
    columns: dict[Labels, dict[str, tuple[list[int], list[float]]]] = {}
    for at, row in enumerate(rows):
        mine = columns.setdefault(row.labels, {})
        for metric, value in row.values.items():
            if metric not in mine:
                mine[metric] = ([], [])
            places, values = mine[metric]
            places.append(at)
            values.append(value)
    return tuple(
        Column(
            key=SeriesKey(metric, labels),
            values=np.array(values, dtype=np.float64),
            rows=None if len(places) == len(rows) else np.array(places, dtype=np.int64),
        )
        for labels, mine in columns.items()
        for metric, (places, values) in mine.items()
    )
