"""Reading series in full."""

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
    """Every point of these series (None: of all) within the steps; those that the run lacks are left out.

    Chunks that end before an attempt and step are left out, too (`begin`); those whose steps are their own
    where the attempt does.
    """
    names = snapshot.series(keys)
    groups: dict[tuple[int, int], list[ChunkRow]] = {}
    rows = snapshot.chunks(None if keys is None else names, steps)
    if begin is not None:
        aside = {number for number, key in names.items() if key.own_steps is not None}
        rows = [
            row
            for row in rows
            if (row.attempt, row.step_max) >= begin or (row.series_id in aside and row.attempt == begin[0])
        ]
    for row in sorted(rows, key=attrgetter("step_min")):
        groups.setdefault((row.series_id, row.attempt), []).append(row)
    pieces: dict[int, dict[int, list[SeriesPoints]]] = {}
    for (number, attempt), points in zip(groups, snapshot.joined(groups.values()), strict=True):
        pieces.setdefault(number, {})[attempt] = [points]
    for number, held in snapshot.recent(names, steps).items():
        for attempt, points in held.items():
            # the log is newer than every chunk
            pieces.setdefault(number, {}).setdefault(attempt, []).append(points)
    found = {}
    for number, key in names.items():
        attempts = pieces.get(number, {})
        found[key] = _series(
            key, {attempt: steps.within(join_points(held)) for attempt, held in attempts.items()}
        )
    return found


def _series(key: SeriesKey, attempts: Mapping[int, SeriesPoints]) -> Series:
    held = sorted(attempts.items())
    numbers = np.array([attempt for attempt, _ in held], dtype=np.int64)
    lengths = np.array([len(points.step) for _, points in held], dtype=np.int64)
    columns = [_joined(column) for column in zip(*(points for _, points in held), strict=True)]
    step, time, value = columns or (np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    series = Series(key=key, attempt=np.repeat(numbers, lengths), step=step, time=time, value=value)
    for column in (series.attempt, series.step, series.time, series.value):
        column.flags.writeable = False
    return series


def _joined(columns: Iterable[NDArray[Any]]) -> NDArray[Any]:
    held = list(columns)
    return held[0].view() if len(held) == 1 else np.concatenate(held)
