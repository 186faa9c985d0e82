"""The series of one metric as a grid of rows (ranks) and columns (intervals of steps), for heat maps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holter.server.store import CurveSegment, ReducedSeries, Store
from holter.types import FloatArray, IntArray, SeriesKey

MAX_ROWS = 4096
_BATCH = 256
"""Series that are read at once."""
_BUCKETS_PER_COLUMN = 2
_NUMBER = re.compile(r"-?[0-9]{1,15}")

Grid = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricGrid:
    """The grid: mean, minimum and maximum [rows, columns], NaN where a row has no finite value.

    A column's mean is that of the buckets or points that begin in it.
    """

    keys: Sequence[SeriesKey]
    first_step: int | None
    last_step: int | None
    mean: Grid
    minimum: Grid
    maximum: Grid


def read_grid(
    store: Store,
    run_id: int,
    keys: Iterable[SeriesKey],
    *,
    from_step: int | None,
    to_step: int | None,
    columns: int,
) -> MetricGrid:
    """The grid of these series. Ranks and other labels that are numbers are sorted as numbers."""
    ordered = sorted(keys, key=row_order)[:MAX_ROWS]
    read: dict[SeriesKey, ReducedSeries] = {}
    for start in range(0, len(ordered), _BATCH):
        part = ordered[start : start + _BATCH]
        chart = store.chart(
            run_id, part, from_step=from_step, to_step=to_step, points=_BUCKETS_PER_COLUMN * columns
        )
        read.update((series.key, series) for series in chart)
    rows = [_values(read.get(key)) for key in ordered]
    ends = [
        (int(segment.step[0]), int(segment.step[-1]))
        for series in read.values()
        for segment in series.segments
        if not segment.ghost and len(segment.step)
    ]
    first = min((low for low, _ in ends), default=None)
    last = max((high for _, high in ends), default=None)
    grids = [np.full((len(ordered), columns), np.nan, dtype=np.float32) for _ in range(3)]
    if first is not None and last is not None:
        for index, row in enumerate(rows):
            _fill(index, row, first, last, grids)
    mean, minimum, maximum = grids
    return MetricGrid(
        keys=ordered, first_step=first, last_step=last, mean=mean, minimum=minimum, maximum=maximum
    )


def row_order(key: SeriesKey) -> list[tuple[str, int, str]]:
    """A sort key by which rank 9 comes before rank 10."""
    return [
        (name, int(value), "") if _NUMBER.fullmatch(value) else (name, 0, value)
        for name, value in sorted(key.labels, key=lambda label: (label[0] != "rank", label[0]))
    ]


def _values(series: ReducedSeries | None) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Steps, means, minima and maxima of what a series has in its surviving segments."""
    parts = [_segment(segment) for segment in series.segments if not segment.ghost] if series else []
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0)
    step, mean, low, high = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return step, mean, low, high


def _segment(segment: CurveSegment) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    band = segment.band
    if band is None:
        return segment.step, segment.value, segment.value, segment.value
    return band.step, band.mean, band.minimum, band.maximum


def _fill(
    index: int,
    row: tuple[IntArray, FloatArray, FloatArray, FloatArray],
    first: int,
    last: int,
    grids: Sequence[Grid],
) -> None:
    step, mean, low, high = row
    finite = np.isfinite(mean)
    step, mean, low, high = step[finite], mean[finite], low[finite], high[finite]
    if not len(step):
        return
    columns = grids[0].shape[1]
    column = ((step - first) * columns // (last - first + 1)).astype(np.int64)
    order = np.argsort(column, kind="stable")
    column = column[order]
    starts = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    present = column[starts]
    count = np.diff(np.append(starts, len(column)))
    grids[0][index, present] = np.add.reduceat(mean[order], starts) / count
    grids[1][index, present] = np.minimum.reduceat(low[order], starts)
    grids[2][index, present] = np.maximum.reduceat(high[order], starts)
    usual_gap = int(np.ceil(np.median(np.diff(present)))) if len(present) > 1 else 1
    if usual_gap > 1 or len(present) < columns:
        _fill_gaps([grid[index] for grid in grids], present, usual_gap)


def _fill_gaps(rows: Sequence[Grid], present: IntArray, usual_gap: int) -> None:
    """Continue each value over the columns up to the next one, at most as far as values usually lie apart."""
    columns = np.arange(rows[0].shape[0])
    before = np.searchsorted(present, columns, side="right") - 1
    source = present[np.maximum(before, 0)]
    filled = (before >= 0) & (columns - source <= usual_gap)
    for row in rows:
        row[filled] = row[source[filled]]
