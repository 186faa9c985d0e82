"""Statistics of series as columns and as a blob: counts, extremes and the newest point."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from holter.attempts.step_values import time_order
from holter.server.store.encoding.attempt_progress import step_ranges
from holter.server.store.encoding.blob import (
    Codec,
    compress,
    decompress,
    delta_decode,
    delta_encode,
    seal,
    shuffle,
    unseal,
    unshuffle,
)
from holter.server.store.encoding.block import PointBlock
from holter.server.store.encoding.last_points import LastPoints
from holter.types import FloatArray, IntArray

_COUNT = Struct("<I")
_INTEGER_COLUMNS = ("ids", "attempt", "step", "points", "logged", "nonfinite", "first")


class SeriesStats(NamedTuple):
    """Statistics of some series of a run, arrays [c]; ids ascend and are unique.

    The newest point of each is the last one of the last step of its newest attempt. `first` is the lowest
    step; `low` and `high` are the extremes of the finite values, inf and -inf without any.
    """

    ids: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray
    points: IntArray
    logged: IntArray
    nonfinite: IntArray
    first: IntArray
    low: FloatArray
    high: FloatArray


def _none() -> SeriesStats:
    integers, floats = np.empty(0, dtype=np.int64), np.empty(0)
    return SeriesStats._make(integers if name in _INTEGER_COLUMNS else floats for name in SeriesStats._fields)


NO_STATS = _none()


def stats_of_block(attempt: int, block: PointBlock) -> SeriesStats:
    """Return the statistics of a merged block of one attempt."""
    if not len(block.ids):
        return NO_STATS
    starts, last = block.offsets[:-1], block.offsets[1:] - 1
    rows = last - starts if block.rows is None else block.rows[last]
    finite = np.isfinite(block.values)
    low = high = block.values
    if not finite.all():
        low, high = np.where(finite, block.values, np.inf), np.where(finite, block.values, -np.inf)
    return SeriesStats(
        ids=block.ids,
        attempt=np.full(len(block.ids), attempt, dtype=np.int64),
        step=block.steps[rows],
        time=block.times[rows],
        value=block.values[last],
        points=block.counts,
        logged=block.counts,
        nonfinite=np.add.reduceat((~finite).astype(np.int64), starts),
        first=step_ranges(block)[0],
        low=np.minimum.reduceat(low, starts),
        high=np.maximum.reduceat(high, starts),
    )


def combine_stats(parts: Sequence[SeriesStats]) -> SeriesStats:
    """Combine statistics; of points at one step and time, that of the later part is the newest.

    Counts are added up: correct as long as no point is in two parts, see `overlapping_series`.
    """
    nonempty = [part for part in parts if len(part.ids)]
    if len(nonempty) < 2:
        return nonempty[0] if nonempty else NO_STATS
    joined = SeriesStats._make(np.concatenate(column) for column in zip(*nonempty, strict=True))
    order = np.lexsort((time_order(joined.time), joined.step, joined.attempt, joined.ids))
    ids = joined.ids[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    newest = order[np.append(starts[1:], len(order)) - 1]
    columns: list[Any] = [column[newest] for column in joined[:5]]
    columns += [np.add.reduceat(column[order], starts) for column in joined[5:8]]
    columns += [np.minimum.reduceat(column[order], starts) for column in (joined.first, joined.low)]
    columns.append(np.maximum.reduceat(joined.high[order], starts))
    return SeriesStats._make(columns)


def overlapping_series(known: SeriesStats, attempt: int, block: PointBlock) -> IntArray:
    """Return the ids of series of which a merged block (of one attempt) may repeat points that are known."""
    if not len(known.ids):
        return known.ids
    index = np.minimum(np.searchsorted(known.ids, block.ids), len(known.ids) - 1)
    starts = block.offsets[:-1]
    rows = np.zeros_like(starts) if block.rows is None else block.rows[starts]
    step, known_step = block.steps[rows], known.step[index]
    current = known.attempt[index] == attempt
    repeats = (known.attempt[index] > attempt) | (current & (step < known_step))
    tied = current & (step == known_step)
    if tied.any():  # the flush ended within a step: later points of it are no repeats
        repeats |= tied & (time_order(block.times[rows]) <= time_order(known.time[index]))
    return np.asarray(block.ids[(known.ids[index] == block.ids) & repeats])


def encode_stats(stats: SeriesStats) -> bytes:
    """Encode statistics as one blob."""
    columns = [
        shuffle(delta_encode(column) if name in _INTEGER_COLUMNS else column)
        for name, column in zip(SeriesStats._fields, stats, strict=True)
    ]
    return seal(Codec.ZSTD, _COUNT.pack(len(stats.ids)) + compress(b"".join(columns)))


def decode_stats(blob: bytes) -> SeriesStats:
    """Decode statistics. Raises CorruptDataError."""
    return SeriesStats._make(_columns(blob, SeriesStats._fields))


def decode_last_points(blob: bytes) -> LastPoints:
    """Decode only the newest points of a statistics blob: a third of the work. Raises CorruptDataError."""
    return LastPoints._make(_columns(blob, LastPoints._fields))


def _columns(blob: bytes, names: Sequence[str]) -> list[Any]:
    """Decode the first columns of a blob."""
    _, body = unseal(blob)
    (count,) = _COUNT.unpack_from(body)
    data = decompress(body[_COUNT.size :], 8 * count * len(names))
    return [
        delta_decode(unshuffle(data, "<i8", 8 * count * index, count))
        if name in _INTEGER_COLUMNS
        else unshuffle(data, "<f8", 8 * count * index, count)
        for index, name in enumerate(names)
    ]
