"""The newest point of every series: a blob for what compaction has seen, and the log for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from holter.server.store.block import Block
from holter.server.store.seal import (
    Codec,
    compress,
    decompress,
    deltas,
    seal,
    shuffle,
    undeltas,
    unseal,
    unshuffle,
)
from holter.types import FloatArray, IntArray

_COUNT = Struct("<I")


class Newest(NamedTuple):
    """One point each of several series, arrays [c]: the last step of the newest attempt, its newest write."""

    ids: IntArray
    attempt: IntArray
    step: IntArray
    time: FloatArray
    value: FloatArray


_NO_STEPS = np.empty(0, dtype=np.int64)
NOTHING = Newest(_NO_STEPS, _NO_STEPS, _NO_STEPS, np.empty(0), np.empty(0))


def last_of(attempt: int, block: Block) -> Newest:
    """The last point of each series of a merged block."""
    last = block.offsets[1:] - 1
    rows = last - block.offsets[:-1] if block.rows is None else block.rows[last]
    numbers = np.full(len(block.ids), attempt, dtype=np.int64)
    return Newest(block.ids, numbers, block.steps[rows], block.times[rows], block.values[last])


def newest(parts: Sequence[Newest]) -> Newest:
    """Of several points of a series the newest; parts in the order of writing."""
    joined = Newest._make(np.concatenate(column) for column in zip(NOTHING, *parts, strict=True))
    order = np.lexsort((joined.step, joined.attempt, joined.ids))
    ids = joined.ids[order]
    last = order[np.append(ids[1:] != ids[:-1], True)] if len(ids) else order
    return Newest._make(column[last] for column in joined)


def encode(points: Newest) -> bytes:
    """The points as one blob; ids ascend."""
    columns = [shuffle(deltas(column)) for column in points[:3]] + [shuffle(column) for column in points[3:]]
    return seal(Codec.ZSTD, _COUNT.pack(len(points.ids)) + compress(b"".join(columns)))


def decode(blob: bytes) -> Newest:
    """The points of a blob. Raises CorruptDataError."""
    _, body = unseal(blob)
    (count,) = _COUNT.unpack_from(body)
    data = decompress(body[_COUNT.size :])
    ids, attempt, step = (undeltas(unshuffle(data, "<i8", 8 * count * at, count)) for at in range(3))
    time, value = (unshuffle(data, "<f8", 8 * count * at, count) for at in (3, 4))
    return Newest(ids, attempt, step, time, value)
