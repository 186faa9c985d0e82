"""Series that were stored one by one, brought back into the rows in which they were logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from holter.ingest.trackers.base import Contents, Logged
from holter.types import Batch, Column, FloatArray, IntArray

LARGEST_BATCH = 65_536
"""Points, about: rows are not cut."""


def batches(contents: Contents) -> Iterator[Batch]:
    """The points of a run in the order of their times, those without a time by step.

    A row is what has one time and one step. Where a series has a step and a time twice, the later stands in
    a row of its own, after the first.
    """
    logged = [one for one in contents.logged if len(one.steps)]
    if not logged:
        return
    whole = _batch(logged)
    rows = max(1, LARGEST_BATCH * len(whole.steps) // whole.points)
    for start in range(0, len(whole.steps), rows):
        yield whole.cut(start, min(start + rows, len(whole.steps)))


def _batch(logged: Sequence[Logged]) -> Batch:
    steps = np.concatenate([one.steps for one in logged])
    times = np.concatenate([one.times for one in logged])
    clock = np.where(np.isnan(times), -np.inf, times)
    again = np.concatenate([_again(one) for one in logged])
    order = np.lexsort((again, steps, clock))
    begins = _changes(clock[order], steps[order], again[order])
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(begins) - 1
    first = order[begins]
    columns, start = [], 0
    for one in logged:
        mine = row[start : start + len(one.steps)]
        start += len(one.steps)
        sorting = np.argsort(mine)
        rows = mine[sorting]
        columns.append(
            Column(
                key=one.key,
                values=one.values[sorting],
                rows=None if len(rows) == len(first) else rows,
            )
        )
    return Batch(steps=steps[first], times=times[first], columns=tuple(columns))


def _again(one: Logged) -> IntArray:
    """For each point, how many the series has before it with the same step and time."""
    clock = np.where(np.isnan(one.times), -np.inf, one.times)
    order = np.lexsort((one.steps, clock))  # stable: equal ones stay in the order in which they were logged
    place = np.arange(len(order))
    first = np.maximum.accumulate(np.where(_changes(clock[order], one.steps[order]), place, 0))
    found = np.empty(len(order), dtype=np.int64)
    found[order] = place - first
    return found


def _changes(*columns: FloatArray | IntArray) -> NDArray[np.bool_]:
    """Where a row differs from the one before it."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed
