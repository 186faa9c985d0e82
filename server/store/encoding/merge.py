"""Merges blocks and pieces of series: points by step, then time, then order of writing; each one once.

Points of one step are all kept. A point that repeats another, with the same step, time and value, is the same
point delivered again: the later delivery counts, so that among points without a clock the last one written is
the last one of its step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.attempts.step_values import time_order
from holter.server.store.encoding.block import PointBlock, SeriesPoints
from holter.types import FloatArray, IntArray


def merge_blocks(blocks: Sequence[PointBlock]) -> PointBlock:
    """Merge blocks of one attempt, older writes first; ids ascend, each series' points are in order."""
    if all(block.rows is None and np.array_equal(block.ids, blocks[0].ids) for block in blocks):
        dense = _merge_dense(blocks)
        if dense is not None:
            return dense
    ids, id_index = np.unique(np.concatenate([block.ids for block in blocks]), return_inverse=True)
    index_type = np.min_scalar_type(len(ids))  # numpy sorts up to 16 bits in linear time
    counts = np.concatenate([block.counts for block in blocks])
    series = np.repeat(id_index.astype(index_type), counts)
    bases = np.cumsum([0] + [len(block.steps) for block in blocks])
    rows = np.concatenate([_rows(block) + base for block, base in zip(blocks, bases, strict=False)])
    steps = np.concatenate([block.steps for block in blocks])
    times = np.concatenate([block.times for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    order = np.argsort(series, kind="stable")
    series, rows = series[order], rows[order]
    step, same = steps[rows], series[1:] == series[:-1]
    if np.any(same & (step[1:] <= step[:-1])):
        time = time_order(times)[rows]
        resort = np.lexsort((time, step, series))
        order, series, rows = order[resort], series[resort], rows[resort]
        kept = _without_repeats([series, step[resort], time[resort]], values[order].view(np.int64))
        if kept is not None:
            order, series, rows = order[kept], series[kept], rows[kept]
    return PointBlock(
        ids=ids,
        counts=np.bincount(series, minlength=len(ids)),
        rows=rows,
        steps=steps,
        times=times,
        values=values[order],
    )


def join_points(pieces: Sequence[SeriesPoints]) -> SeriesPoints:
    """Merge pieces of one series in one attempt, older writes first."""
    if len(pieces) == 1:
        return pieces[0]
    joined = SeriesPoints._make(np.concatenate(column) for column in zip(*pieces, strict=True))
    kept = merged_indices(joined)
    return joined if kept is None else SeriesPoints._make(column[kept] for column in joined)


def merged_indices(points: SeriesPoints) -> IntArray | None:
    """Return the indices of the points in order, without repeats; None if all steps ascend already."""
    if np.all(points.step[1:] > points.step[:-1]):
        return None
    time = time_order(points.time)
    order: IntArray = np.lexsort((time, points.step))
    kept = _without_repeats([points.step[order], time[order]], points.value[order].view(np.int64))
    return order if kept is None else order[kept]


def count_repeats(block: PointBlock) -> int:
    """Return how many points of a block repeat another one of it: 0 in the usual case, at little cost."""
    if np.all(block.steps[1:] > block.steps[:-1]):
        return 0
    return len(block.values) - len(merge_blocks([block]).values)


def _without_repeats(keys: Sequence[NDArray[Any]], values: IntArray) -> IntArray | None:
    """Return the indices without those that have keys and value of a later one; None if these are all.

    Of two points or more; equal keys are adjacent. Only points with equal keys are sorted: usually none.
    """
    same = np.ones(len(values) - 1, dtype=bool)
    for key in keys:
        same &= key[1:] == key[:-1]
    if not same.any():
        return None
    candidates = np.flatnonzero(np.append(same, False) | np.append(False, same))
    group = np.cumsum(~np.append(False, same))[candidates]
    order = np.lexsort((values[candidates], group))  # stable: equal ones stay in the order of writing
    group, value = group[order], values[candidates][order]
    repeated = (group[1:] == group[:-1]) & (value[1:] == value[:-1])
    if not repeated.any():
        return None
    kept = np.ones(len(values), dtype=bool)
    kept[candidates[order[:-1][repeated]]] = False
    return np.flatnonzero(kept)


def _rows(block: PointBlock) -> IntArray:
    if block.rows is not None:
        return block.rows
    return np.tile(np.arange(len(block.steps), dtype=np.int64), len(block.ids))


def _merge_dense(blocks: Sequence[PointBlock]) -> PointBlock | None:
    """Merge dense blocks of the same series; None where the result may not be dense.

    That is so where rows of equal step and time differ: some of their values may be repeats, others not.
    """
    first = blocks[0]
    steps = np.concatenate([block.steps for block in blocks])
    times = np.concatenate([block.times for block in blocks])
    matrix = np.concatenate(
        [block.values.reshape(len(first.ids), len(block.steps)) for block in blocks], axis=1
    )
    if not np.all(steps[1:] > steps[:-1]):
        time = time_order(times)
        order = np.lexsort((time, steps))
        keys = [steps[order], time[order]]
        kept = _without_repeats(keys, _row_numbers(matrix, order, keys))
        if kept is not None:
            order, keys = order[kept], [key[kept] for key in keys]
        if np.any((keys[0][1:] == keys[0][:-1]) & (keys[1][1:] == keys[1][:-1])):
            return None
        steps, times, matrix = steps[order], times[order], matrix[:, order]
    ascending = np.argsort(first.ids)
    if np.any(ascending[1:] < ascending[:-1]):
        matrix = matrix[ascending]
    counts = np.full(len(first.ids), len(steps), dtype=np.int64)
    return PointBlock(first.ids[ascending], counts, None, steps, times, matrix.ravel())


def _row_numbers(matrix: FloatArray, order: IntArray, keys: Sequence[NDArray[Any]]) -> IntArray:
    """Number the rows (columns of the matrix) in this order so that equal rows with equal keys are equal.

    Rows with keys of their own have no number: 0.
    """
    same = (keys[0][1:] == keys[0][:-1]) & (keys[1][1:] == keys[1][:-1])
    numbers = np.zeros(len(order), dtype=np.int64)
    candidates = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(candidates):
        rows = np.ascontiguousarray(matrix[:, order[candidates]].T)
        as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        numbers[candidates] = np.unique(as_bytes, return_inverse=True)[1]
    return numbers
