"""A run's points piece by piece, so that memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from holter.attempts.timeline import superseded
from holter.server.store.reading.snapshot import Snapshot, Steps, by_series, log_points
from holter.server.store.reading.whole import read
from holter.types import IntArray, Series, SeriesKey

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
    spans = Snapshot(connection, run_id).spans()
    for some, steps in _portions(connection, run_id, keys):
        # a snapshot of its own for each: it remembers the timelines that it has read
        found = read(Snapshot(connection, run_id), some, steps)
        yield [
            Piece(found[key], superseded(found[key].attempt, found[key].step, spans))
            for key in some
            if len(found[key])
        ]


def _portions(
    connection: Connection, run_id: int, keys: Collection[SeriesKey]
) -> Iterator[tuple[list[SeriesKey], Steps]]:
    """Which series are read together, over which steps."""
    snapshot = Snapshot(connection, run_id)
    names = snapshot.series(keys)
    chunks = by_series(snapshot.chunks(names))
    log = log_points(snapshot.log(names))
    short: list[SeriesKey] = []
    held = 0
    for number, key in names.items():
        logged = [points.step for points in log.get(number, {}).values()]
        marks = [(row.step_min, row.points) for row in chunks.get(number, ())]
        marks += [(int(steps[at]), _EVERY) for steps in logged for at in range(0, len(steps), _EVERY)]
        size = sum(row.points for row in chunks.get(number, ())) + sum(map(len, logged))
        if short and held + size > PIECE:
            yield short, Steps()
            short, held = [], 0
        if size > PIECE:
            yield from (([key], steps) for steps in _ranges(np.array(sorted(marks), dtype=np.int64)))
        else:
            short.append(key)
            held += size
    if short:
        yield short, Steps()


def _ranges(marks: IntArray) -> Iterator[Steps]:
    """Ranges of steps that hold about `PIECE` points each; `marks` [m, 2]: so many points from a step on."""
    which = np.cumsum(marks[:, 1]) // PIECE
    begins = np.unique(marks[np.flatnonzero(which[1:] > which[:-1]) + 1, 0]).tolist()
    firsts, lasts = [None, *begins], [*(begin - 1 for begin in begins), None]
    return (Steps(first, last) for first, last in zip(firsts, lasts, strict=True))
