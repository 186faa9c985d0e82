"""A run's points piece by piece, so that memory does not grow with the run.

Points in long form, as files have them, and the batches that they become.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from holter.attempts.superseded import superseded_points
from holter.server.store.encoding.chunk import timeline_digest
from holter.server.store.read.series import read_series
from holter.server.store.read.snapshot import RunSnapshot, StepRange, chunks_by_series, log_points
from holter.types import Batch, Column, FloatArray, IntArray, Series, SeriesKey, labels_of


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Rows:
    """Points, one a row; `which` [n] says which of `keys` each belongs to. Times are NaN without a clock."""

    keys: list[SeriesKey]
    which: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


@lru_cache(maxsize=100_000)
def key_from(metric: str, labels: str) -> SeriesKey:
    """A series by its metric and its labels as a JSON object, empty for none. Raises ValueError."""
    if labels in ("", "{}"):
        return SeriesKey(metric)
    try:
        return SeriesKey(metric, labels_of(msgspec.json.decode(labels, type=dict[str, str | int | float])))
    except msgspec.DecodeError as error:
        raise ValueError(
            f"labels {labels!r}: expected a JSON object of names and values ({error})"
        ) from error


def batches(rows: Rows) -> Iterator[tuple[int, Batch]]:
    """The points as batches, one for each attempt; series that were logged together share its rows."""
    if not len(rows.step):
        return
    order = np.lexsort((rows.which, rows.attempt))
    which, attempt = rows.which[order], rows.attempt[order]
    new = (which[1:] != which[:-1]) | (attempt[1:] != attempt[:-1])
    bounds = [0, *(np.flatnonzero(new) + 1).tolist(), len(order)]
    held: dict[int, list[tuple[SeriesKey, IntArray]]] = {}
    for start, stop in pairwise(bounds):
        held.setdefault(int(attempt[start]), []).append((rows.keys[int(which[start])], order[start:stop]))
    for number, columns in held.items():
        yield number, _batch(rows, number, columns)


def _batch(rows: Rows, attempt: int, columns: list[tuple[SeriesKey, IntArray]]) -> Batch:
    places: dict[bytes, int] = {}
    clocks: list[IntArray] = []
    size = 0
    begins = []
    for _, at in columns:
        clock = timeline_digest(rows.step[at], rows.time[at])
        if clock not in places:
            places[clock] = size
            clocks.append(at)
            size += len(at)
        begins.append(places[clock])
    everything = np.concatenate(clocks)
    return Batch(
        steps=rows.step[everything],
        times=rows.time[everything],
        columns=tuple(
            Column(
                key=key,
                values=rows.value[at],
                rows=None if len(at) == size else np.arange(begin, begin + len(at), dtype=np.int64),
            )
            for (key, at), begin in zip(columns, begins, strict=True)
        ),
        attempt=str(attempt),
    )


PIECE = 262_144
"""About how many points are held at once."""

_EVERY = 16_384  # points of the log between two places where a piece may begin


@dataclass(frozen=True, eq=False, slots=True)
class Piece:
    """Points of one series over some of its steps, and which of them newer attempts superseded [n]."""

    series: Series
    superseded: NDArray[np.bool_]


def pieces(connection: Connection, run_id: int, keys: Collection[SeriesKey]) -> Iterator[list[Piece]]:
    """All points of these series, in portions of about `PIECE` points, in the order of their keys.

    A long series comes in several pieces, one range of steps after the other; a piece is in the order of
    attempts, then steps.
    """
    spans = RunSnapshot(connection, run_id).spans()
    for some, steps in _portions(connection, run_id, keys):
        # a snapshot of its own for each: it remembers the timelines that it has read
        found = read_series(RunSnapshot(connection, run_id), some, steps)
        yield [
            Piece(found[key], superseded_points(found[key].attempt, found[key].step, spans))
            for key in some
            if len(found[key])
        ]


def _portions(
    connection: Connection, run_id: int, keys: Collection[SeriesKey]
) -> Iterator[tuple[list[SeriesKey], StepRange]]:
    """Which series are read together, over which steps."""
    snapshot = RunSnapshot(connection, run_id)
    names = snapshot.series(keys)
    chunks = chunks_by_series(snapshot.chunks(names))
    log = log_points(snapshot.log(names))
    short: list[SeriesKey] = []
    held = 0
    for number, key in names.items():
        logged = [points.step for points in log.get(number, {}).values()]
        marks = [(row.step_min, row.points) for row in chunks.get(number, ())]
        marks += [(int(steps[at]), _EVERY) for steps in logged for at in range(0, len(steps), _EVERY)]
        size = sum(row.points for row in chunks.get(number, ())) + sum(map(len, logged))
        if short and held + size > PIECE:
            yield short, StepRange()
            short, held = [], 0
        if size > PIECE:
            yield from (([key], steps) for steps in _ranges(np.array(sorted(marks), dtype=np.int64)))
        else:
            short.append(key)
            held += size
    if short:
        yield short, StepRange()


def _ranges(marks: IntArray) -> Iterator[StepRange]:
    """Ranges of steps that hold about `PIECE` points each; `marks` [m, 2]: so many points from a step on."""
    which = np.cumsum(marks[:, 1]) // PIECE
    begins = np.unique(marks[np.flatnonzero(which[1:] > which[:-1]) + 1, 0]).tolist()
    firsts, lasts = [None, *begins], [*(begin - 1 for begin in begins), None]
    return (StepRange(first, last) for first, last in zip(firsts, lasts, strict=True))
