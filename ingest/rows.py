"""Rows as logs tell them, one log call each, and the columns that a batch makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from holter.types import Batch, Column, Labels, SeriesKey


class Row(NamedTuple):
    """What was logged at once. `time` is in Unix seconds, NaN without a clock; `labels` are every value's."""

    step: int
    time: float
    values: Mapping[str, float]
    labels: Labels = ()
    attempt: str | None = None


def batch_of(rows: Sequence[Row]) -> Batch:
    """The rows of one attempt as columns over them, in their order."""
    columns: dict[Labels, dict[str, tuple[list[int], list[float]]]] = {}
    for at, row in enumerate(rows):
        mine = columns.setdefault(row.labels, {})
        for metric, value in row.values.items():
            if metric not in mine:
                mine[metric] = ([], [])
            places, values = mine[metric]
            places.append(at)
            values.append(value)
    return Batch(
        steps=np.array([row.step for row in rows], dtype=np.int64),
        times=np.array([row.time for row in rows], dtype=np.float64),
        columns=tuple(
            Column(
                key=SeriesKey(metric, labels),
                values=np.array(values, dtype=np.float64),
                rows=None if len(places) == len(rows) else np.array(places, dtype=np.int64),
            )
            for labels, mine in columns.items()
            for metric, (places, values) in mine.items()
        ),
        attempt=rows[0].attempt if rows else None,
    )
