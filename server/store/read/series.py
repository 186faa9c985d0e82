"""Reads series in full."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.server.store.encoding.block import SeriesPoints
from holter.server.store.encoding.merge import join_points
from holter.server.store.read.snapshot import ChunkRow, RunSnapshot, StepRange
from holter.types import Series, SeriesKey


def read_series(
    snapshot: RunSnapshot,
    keys: Collection[SeriesKey] | None,
    steps: StepRange,
    *,
    begin: tuple[int, int] | None = None,
) -> dict[SeriesKey, Series]:
    """Return every point of these series (None: all) within the step range; missing series are left out.

    `begin`: chunks that end before this attempt and step are left out, too; chunks of series with steps of
    their own are left out if the attempt is older.
    """
    names = snapshot.series(keys)
    groups: dict[tuple[int, int], list[ChunkRow]] = {}
    rows = snapshot.chunks(None if keys is None else names, steps)
    if begin is not None:
        own_step_series = {series_id for series_id, key in names.items() if key.step_unit is not None}
        rows = [
            row
            for row in rows
            if (row.attempt, row.step_max) >= begin
            or (row.series_id in own_step_series and row.attempt == begin[0])
        ]
    for row in sorted(rows, key=attrgetter("step_min")):
        groups.setdefault((row.series_id, row.attempt), []).append(row)
    pieces: dict[int, dict[int, list[SeriesPoints]]] = {}
    for (series_id, attempt), points in zip(groups, snapshot.joined(groups.values()), strict=True):
        pieces.setdefault(series_id, {})[attempt] = [points]
    for series_id, by_attempt in snapshot.log_points(names, steps).items():
        for attempt, points in by_attempt.items():
            # log entries are newer than every chunk
            pieces.setdefault(series_id, {}).setdefault(attempt, []).append(points)
    result = {}
    for series_id, key in names.items():
        attempts = pieces.get(series_id, {})
        result[key] = _build_series(
            key, {attempt: steps.clip(join_points(by_attempt)) for attempt, by_attempt in attempts.items()}
        )
    return result


def read_steps_and_values(snapshot: RunSnapshot, key: SeriesKey) -> Series | None:
    """The points of a series by a snapshot without times; None where their order takes times.

    That is so where several points of an attempt have one step. Times are NaN.
    """
    found = read_series(snapshot, [key], StepRange())
    series = found.get(key)
    if series is None:
        return None
    ascending = series.step[1:] > series.step[:-1]
    if not ascending.all():
        ascending |= series.attempt[1:] > series.attempt[:-1]
    return series if ascending.all() else None


def _build_series(key: SeriesKey, attempts: Mapping[int, SeriesPoints]) -> Series:
    ordered = sorted(attempts.items())
    numbers = np.array([attempt for attempt, _ in ordered], dtype=np.int64)
    lengths = np.array([len(points.step) for _, points in ordered], dtype=np.int64)
    columns = [_concatenate(column) for column in zip(*(points for _, points in ordered), strict=True)]
    step, time, value = columns or (np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    # of one attempt, as usual, one number without memory of its own
    attempt = np.broadcast_to(numbers, lengths) if len(numbers) == 1 else np.repeat(numbers, lengths)
    series = Series(key=key, attempt=attempt, step=step, time=time, value=value)
    for column in (series.attempt, series.step, series.time, series.value):
        column.flags.writeable = False
    return series


def _concatenate(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
    parts = list(columns)
    return parts[0].view() if len(parts) == 1 else np.concatenate(parts)
