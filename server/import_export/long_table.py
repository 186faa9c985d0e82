"""Points in long form, one per row: read from the store in pieces, and converted to batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np
from sqlalchemy import Connection

from holter.attempts.superseded import superseded_points
from holter.server.import_export.point_rows import PIECE_POINTS, PointRows, SeriesPiece
from holter.server.store.encoding.chunk import timeline_digest
from holter.server.store.read.series import read_series
from holter.server.store.read.snapshot import RunSnapshot, StepRange, chunks_by_series, log_points
from holter.types import Batch, Column, IntArray, SeriesKey

_LOG_POINTS_PER_MARK = 16_384  # points of the log between possible piece boundaries


def batches_by_attempt(rows: PointRows) -> Iterator[tuple[int, Batch]]:
    """Return the points as batches, one per attempt; series logged together share rows."""
    if not len(rows.step):
        return
    order = np.lexsort((rows.key_index, rows.attempt))
    key_index, attempt = rows.key_index[order], rows.attempt[order]
    is_boundary = (key_index[1:] != key_index[:-1]) | (attempt[1:] != attempt[:-1])
    bounds = [0, *(np.flatnonzero(is_boundary) + 1).tolist(), len(order)]
    by_attempt: dict[int, list[tuple[SeriesKey, IntArray]]] = {}
    for start, stop in pairwise(bounds):
        by_attempt.setdefault(int(attempt[start]), []).append(
            (rows.keys[int(key_index[start])], order[start:stop])
        )
    for attempt_number, columns in by_attempt.items():
        yield attempt_number, _batch(rows, attempt_number, columns)


def _batch(rows: PointRows, attempt: int, columns: list[tuple[SeriesKey, IntArray]]) -> Batch:
    start_of: dict[bytes, int] = {}
    timelines: list[IntArray] = []
    size = 0
    starts = []
    for _, indices in columns:
        digest = timeline_digest(rows.step[indices], rows.time[indices])
        if digest not in start_of:
            start_of[digest] = size
            timelines.append(indices)
            size += len(indices)
        starts.append(start_of[digest])
    all_rows = np.concatenate(timelines)
    return Batch(
        steps=rows.step[all_rows],
        times=rows.time[all_rows],
        columns=tuple(
            Column(
                key=key,
                values=rows.value[indices],
                rows=None if len(indices) == size else np.arange(start, start + len(indices), dtype=np.int64),
            )
            for (key, indices), start in zip(columns, starts, strict=True)
        ),
        attempt=str(attempt),
    )


def read_pieces(
    connection: Connection, run_id: int, keys: Collection[SeriesKey]
) -> Iterator[list[SeriesPiece]]:
    """Yield all points of these series in portions of about PIECE_POINTS points, in key order.

    A long series is split into pieces by step range; a piece is ordered by attempt and step.
    """
    spans = RunSnapshot(connection, run_id).spans()
    for portion_keys, steps in _plan_portions(connection, run_id, keys):
        # one snapshot per portion, since a snapshot caches the timelines it has read
        series = read_series(RunSnapshot(connection, run_id), portion_keys, steps)
        yield [
            SeriesPiece(series[key], superseded_points(series[key].attempt, series[key].step, spans))
            for key in portion_keys
            if len(series[key])
        ]


def _plan_portions(
    connection: Connection, run_id: int, keys: Collection[SeriesKey]
) -> Iterator[tuple[list[SeriesKey], StepRange]]:
    """Yield series that are read together, with the range of steps."""
    snapshot = RunSnapshot(connection, run_id)
    names = snapshot.series(keys)
    chunks = chunks_by_series(snapshot.chunks(names))
    log = log_points(snapshot.log(names))
    short: list[SeriesKey] = []
    size_so_far = 0
    for series_id, key in names.items():
        log_steps = [points.step for points in log.get(series_id, {}).values()]
        marks = [(row.step_min, row.points) for row in chunks.get(series_id, ())]
        marks += [
            (int(steps[index]), _LOG_POINTS_PER_MARK)
            for steps in log_steps
            for index in range(0, len(steps), _LOG_POINTS_PER_MARK)
        ]
        size = sum(row.points for row in chunks.get(series_id, ())) + sum(map(len, log_steps))
        if short and size_so_far + size > PIECE_POINTS:
            yield short, StepRange()
            short, size_so_far = [], 0
        if size > PIECE_POINTS:
            yield from (([key], steps) for steps in _ranges(np.array(sorted(marks), dtype=np.int64)))
        else:
            short.append(key)
            size_so_far += size
    if short:
        yield short, StepRange()


def _ranges(marks: IntArray) -> Iterator[StepRange]:
    """Return step ranges with about PIECE_POINTS points each; `marks` [m, 2]: a step, and the points from
    there on.
    """
    piece_index = np.cumsum(marks[:, 1]) // PIECE_POINTS
    starts = np.unique(marks[np.flatnonzero(piece_index[1:] > piece_index[:-1]) + 1, 0]).tolist()
    firsts, lasts = [None, *starts], [*(start - 1 for start in starts), None]
    return (StepRange(first, last) for first, last in zip(firsts, lasts, strict=True))
