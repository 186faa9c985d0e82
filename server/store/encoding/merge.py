"""Merges blocks and pieces of series: steps ascending, and the newest write of each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holter.server.store.encoding.block import PointBlock, SeriesPoints
from holter.types import IntArray


def merge_blocks(blocks: Sequence[PointBlock]) -> PointBlock:
    """Merge blocks of one attempt, older writes first; ids ascend, and steps within each series."""
    if all(block.rows is None and np.array_equal(block.ids, blocks[0].ids) for block in blocks):
        return _merge_dense(blocks)
    ids, id_index = np.unique(np.concatenate([block.ids for block in blocks]), return_inverse=True)
    index_type = np.uint16 if len(ids) < 2**16 else np.int64  # numpy sorts 16 bits in linear time
    counts = np.concatenate([block.counts for block in blocks])
    series = np.repeat(id_index.astype(index_type), counts)
    bases = np.cumsum([0] + [len(block.steps) for block in blocks])
    rows = np.concatenate([_rows(block) + base for block, base in zip(blocks, bases, strict=False)])
    steps = np.concatenate([block.steps for block in blocks])
    order = np.argsort(series, kind="stable")
    series, rows = series[order], rows[order]
    step, same = steps[rows], series[1:] == series[:-1]
    if np.any(same & (step[1:] <= step[:-1])):
        resort = np.lexsort((step, series))
        order, series, rows, step = order[resort], series[resort], rows[resort], step[resort]
        newest = np.append((series[1:] != series[:-1]) | (step[1:] != step[:-1]), True)
        order, series, rows = order[newest], series[newest], rows[newest]
    return PointBlock(
        ids=ids,
        counts=np.bincount(series, minlength=len(ids)),
        rows=rows,
        steps=steps,
        times=np.concatenate([block.times for block in blocks]),
        values=np.concatenate([block.values for block in blocks])[order],
    )


def join_points(pieces: Sequence[SeriesPoints]) -> SeriesPoints:
    """Merge pieces of one series in one attempt, older writes first, into ascending steps."""
    if len(pieces) == 1:
        return pieces[0]
    joined = SeriesPoints._make(np.concatenate(column) for column in zip(*pieces, strict=True))
    newest = latest_write_indices(joined.step)
    return joined if newest is None else SeriesPoints._make(column[newest] for column in joined)


def latest_write_indices(steps: IntArray) -> IntArray | None:
    """Return the index of the last write of each step, in step order; None if steps ascend already."""
    if np.all(steps[1:] > steps[:-1]):
        return None
    order = np.argsort(steps, kind="stable")
    ordered = steps[order]
    return np.asarray(order[np.append(ordered[1:] != ordered[:-1], True)])


def _rows(block: PointBlock) -> IntArray:
    if block.rows is not None:
        return block.rows
    return np.tile(np.arange(len(block.steps), dtype=np.int64), len(block.ids))


def _merge_dense(blocks: Sequence[PointBlock]) -> PointBlock:
    first = blocks[0]
    steps = np.concatenate([block.steps for block in blocks])
    times = np.concatenate([block.times for block in blocks])
    matrix = np.concatenate([block.values.reshape(len(first.ids), -1) for block in blocks], axis=1)
    newest = latest_write_indices(steps)
    if newest is not None:
        steps, times, matrix = steps[newest], times[newest], matrix[:, newest]
    ascending = np.argsort(first.ids)
    if np.any(ascending[1:] < ascending[:-1]):
        matrix = matrix[ascending]
    counts = np.full(len(first.ids), len(steps), dtype=np.int64)
    return PointBlock(first.ids[ascending], counts, None, steps, times, matrix.reshape(-1))
