"""Series in numbers: how many points, their extremes, and the newest of them; as columns and as a blob."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from holter.server.store.encoding.attempt_progress import ranges
from holter.server.store.encoding.blob import (
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
from holter.server.store.encoding.block import Block
from holter.server.store.encoding.last_points import Ends
from holter.types import FloatArray, IntArray

_COUNT = Struct("<I")
_WHOLE = ("ids", "attempt", "step", "points", "logged", "nonfinite", "first")


class Numbers(NamedTuple):
    """Some series of a run, arrays [c]; ids ascend and stand once.

    The newest point of each is the last step of its newest attempt. `first` is the lowest step; `low` and
    `high` are the extremes of the finite values, inf and -inf without any.
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


def _none() -> Numbers:
    whole, real = np.empty(0, dtype=np.int64), np.empty(0)
    return Numbers._make(whole if name in _WHOLE else real for name in Numbers._fields)


NOTHING = _none()


def of_block(attempt: int, block: Block) -> Numbers:
    """The series of a merged block of one attempt."""
    if not len(block.ids):
        return NOTHING
    starts, last = block.offsets[:-1], block.offsets[1:] - 1
    rows = last - starts if block.rows is None else block.rows[last]
    finite = np.isfinite(block.values)
    low = high = block.values
    if not finite.all():
        low, high = np.where(finite, block.values, np.inf), np.where(finite, block.values, -np.inf)
    return Numbers(
        ids=block.ids,
        attempt=np.full(len(block.ids), attempt, dtype=np.int64),
        step=block.steps[rows],
        time=block.times[rows],
        value=block.values[last],
        points=block.counts,
        logged=block.counts,
        nonfinite=np.add.reduceat((~finite).astype(np.int64), starts),
        first=ranges(block)[0],
        low=np.minimum.reduceat(low, starts),
        high=np.maximum.reduceat(high, starts),
    )


def combine(parts: Sequence[Numbers]) -> Numbers:
    """Several as one; of points at one step, that of the later part is the newest.

    Sums are those of the parts: right as long as no part has a step that another one has, see `reaching`.
    """
    held = [part for part in parts if len(part.ids)]
    if len(held) < 2:
        return held[0] if held else NOTHING
    joined = Numbers._make(np.concatenate(column) for column in zip(*held, strict=True))
    order = np.lexsort((joined.step, joined.attempt, joined.ids))
    ids = joined.ids[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    newest = order[np.append(starts[1:], len(order)) - 1]
    found: list[Any] = [column[newest] for column in joined[:5]]
    found += [np.add.reduceat(column[order], starts) for column in joined[5:8]]
    found += [np.minimum.reduceat(column[order], starts) for column in (joined.first, joined.low)]
    found.append(np.maximum.reduceat(joined.high[order], starts))
    return Numbers._make(found)


def reaching(known: Numbers, part: Numbers) -> IntArray:
    """The ids of series of which a part (of one attempt) may have steps that were known before."""
    if not len(known.ids):
        return known.ids
    at = np.minimum(np.searchsorted(known.ids, part.ids), len(known.ids) - 1)
    older = part.attempt < known.attempt[at]
    within = (part.attempt == known.attempt[at]) & (part.first <= known.step[at])
    return np.asarray(part.ids[(known.ids[at] == part.ids) & (older | within)])


def encode(numbers: Numbers) -> bytes:
    """The numbers as one blob."""
    columns = [
        shuffle(deltas(column) if name in _WHOLE else column)
        for name, column in zip(Numbers._fields, numbers, strict=True)
    ]
    return seal(Codec.ZSTD, _COUNT.pack(len(numbers.ids)) + compress(b"".join(columns)))


def decode(blob: bytes) -> Numbers:
    """The numbers of a blob. Raises CorruptDataError."""
    return Numbers._make(_columns(blob, Numbers._fields))


def decode_ends(blob: bytes) -> Ends:
    """The newest points alone of the numbers of a blob: a third of the work. Raises CorruptDataError."""
    return Ends._make(_columns(blob, Ends._fields))


def _columns(blob: bytes, names: Sequence[str]) -> list[Any]:
    """The first columns of a blob."""
    _, body = unseal(blob)
    (count,) = _COUNT.unpack_from(body)
    data = decompress(body[_COUNT.size :], 8 * count * len(names))
    return [
        undeltas(unshuffle(data, "<i8", 8 * count * at, count))
        if name in _WHOLE
        else unshuffle(data, "<f8", 8 * count * at, count)
        for at, name in enumerate(names)
    ]
