"""Blocks: points of several series over shared rows, and how the log keeps them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from struct import Struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.server.store.encoding.blob import (
    Codec,
    compress,
    decompress,
    deltas,
    narrow,
    seal,
    shuffle,
    undeltas,
    unseal,
    unshuffle,
)
from holter.server.store.encoding.chunk import decode_timeline, decode_values, encode_timeline, encode_values
from holter.types import Batch, DenseColumns, FloatArray, IntArray

_SHAPE = Struct("<IIIB")  # rows, series, points, dense
_LENGTH = Struct("<I")


class Points(NamedTuple):
    """Points of one series in one attempt, in the order of their steps; arrays [n]."""

    step: IntArray
    time: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Points of several series of one attempt.

    `ids` [c] names the series; `counts` [c] how many points each has; `values` [sum of counts] one series
    after the other; `rows` the row of each value, None when every series has all rows; `steps` and
    `times` [n] are the rows.
    """

    ids: IntArray
    counts: IntArray
    rows: IntArray | None
    steps: IntArray
    times: FloatArray
    values: FloatArray

    @property
    def offsets(self) -> IntArray:
        """Where each series begins in `values`, and where the last one ends; [c + 1]."""
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.counts)))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        held = (self.ids, self.counts, self.rows, self.steps, self.times, self.values)
        return sum(column.nbytes for column in held if column is not None)

    def points(self, start: int, stop: int) -> Points:
        """The points that stand at [start, stop) of `values`."""
        values = self.values[start:stop]
        if self.rows is None:
            return Points(self.steps, self.times, values)
        rows = self.rows[start:stop]
        return Points(self.steps[rows], self.times[rows], values)

    def only(self, ids: Collection[int]) -> Block:
        """The same rows with these series alone."""
        wanted = np.isin(self.ids, np.fromiter(ids, dtype=np.int64, count=len(ids)))
        if wanted.all():
            return self
        each = np.repeat(wanted, self.counts)
        return replace(
            self,
            ids=self.ids[wanted],
            counts=self.counts[wanted],
            rows=None if self.rows is None else self.rows[each],
            values=self.values[each],
        )

    def tight(self) -> Block:
        """The same points without rows at which no series has a value; rows in the order of their steps."""
        if self.rows is None:
            return self
        used, rows = np.unique(self.rows, return_inverse=True)
        order = np.argsort(self.steps[used], kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        used, rows = used[order], place[rows]
        everywhere = np.arange(len(used))
        dense = len(rows) == len(used) * len(self.ids) and bool(
            np.all(rows.reshape(len(self.ids), -1) == everywhere)
        )
        return replace(self, rows=None if dense else rows, steps=self.steps[used], times=self.times[used])


def block_of(batch: Batch, ids: IntArray) -> Block:
    """A batch as a block; `ids` are those of the batch's columns, in their order."""
    if isinstance(batch.columns, DenseColumns):
        matrix = np.ascontiguousarray(batch.columns.values, dtype=np.float64)
        counts = np.full(len(matrix), matrix.shape[1], dtype=np.int64)
        return Block(ids, counts, None, batch.steps, batch.times, matrix.reshape(-1))
    counts = np.array([len(column.values) for column in batch.columns], dtype=np.int64)
    dense = all(column.rows is None for column in batch.columns)
    everywhere = np.arange(len(batch.steps), dtype=np.int64)
    rows = [everywhere if column.rows is None else column.rows for column in batch.columns]
    values = [column.values for column in batch.columns]
    return Block(
        ids=ids,
        counts=counts,
        rows=None if dense else np.concatenate(rows).astype(np.int64, copy=False),
        steps=batch.steps,
        times=batch.times,
        values=np.concatenate(values) if values else np.empty(0),
    )


def encode_body(block: Block) -> bytes:
    """Everything but the ids of the series, which a batch does not know before it reaches the database."""
    parts = [
        _SHAPE.pack(len(block.steps), len(block.counts), len(block.values), block.rows is None),
        shuffle(deltas(block.steps)),
        shuffle(deltas(block.times)),
    ]
    if block.rows is not None:
        parts += [shuffle(block.counts.astype("<u4")), shuffle(deltas(block.rows).astype("<i4"))]
    wide = _wide(block)
    parts.append(np.packbits(wide).tobytes())
    if not wide.any():
        parts.append(shuffle(block.values.astype("<f4")))
    elif wide.all():
        parts.append(shuffle(block.values))
    else:
        each = np.repeat(wide, block.counts)
        parts += [shuffle(block.values[~each].astype("<f4")), shuffle(block.values[each])]
    return compress(b"".join(parts))


def _wide(block: Block) -> NDArray[np.bool_]:
    """Which series have a value that 32 bits do not hold: kept as a whole, a mixture would cost more."""
    fits = narrow(block.values)
    if fits.all():
        return np.zeros(len(block.counts), dtype=bool)
    return np.asarray(~np.logical_and.reduceat(fits, block.offsets[:-1]))


def encode_entry(ids: IntArray, body: bytes) -> bytes:
    """A log entry: the ids of the series, then the body."""
    names = compress(shuffle(deltas(ids)))
    return seal(Codec.ZSTD, _LENGTH.pack(len(names)) + names + body)


def series_of(blob: bytes) -> bytes:
    """The series of a log entry, encoded: equal where they are. Raises CorruptDataError."""
    codec, sealed = unseal(blob)
    if codec is Codec.PCODEC:
        _, c, _, _ = _SHAPE.unpack_from(sealed)
        (length,) = _LENGTH.unpack_from(sealed, _SHAPE.size)
        start = _SHAPE.size + 4 * (3 + c)
    else:
        (length,), start = _LENGTH.unpack_from(sealed), _LENGTH.size
    return sealed[start : start + length]


def decode_entry(blob: bytes) -> Block:
    """The block of a log entry. Raises CorruptDataError."""
    codec, sealed = unseal(blob)
    if codec is Codec.PCODEC:
        return _unpacked(sealed)
    (length,) = _LENGTH.unpack_from(sealed)
    names = decompress(sealed[_LENGTH.size : _LENGTH.size + length])
    body = decompress(sealed[_LENGTH.size + length :])
    n, c, p, dense = _SHAPE.unpack_from(body)
    at = _SHAPE.size
    steps = undeltas(unshuffle(body, "<i8", at, n))
    times = undeltas(unshuffle(body, "<i8", at := at + 8 * n, n)).view(np.float64)
    at += 8 * n
    if dense:
        counts, rows = np.full(c, n, dtype=np.int64), None
    else:
        counts = unshuffle(body, "<u4", at, c).astype(np.int64)
        rows = undeltas(unshuffle(body, "<i4", at := at + 4 * c, p).astype(np.int64))
        at += 4 * p
    wide = np.unpackbits(np.frombuffer(body, np.uint8, (c + 7) // 8, at), count=c).astype(bool)
    at += (c + 7) // 8
    return Block(
        undeltas(unshuffle(names, "<i8", 0, c)), counts, rows, steps, times, _values(body, at, counts, wide)
    )


def _values(
    body: bytes, at: int, counts: IntArray, wide: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> FloatArray:
    total = int(counts.sum())
    if not wide.any():
        return unshuffle(body, "<f4", at, total).astype(np.float64)
    broad = int(counts[wide].sum())
    each = np.repeat(wide, counts)
    values = np.empty(total)
    values[~each] = unshuffle(body, "<f4", at, total - broad)
    values[each] = unshuffle(body, "<f8", at + 4 * (total - broad), broad)
    return values


def encode_packed(block: Block) -> bytes:
    """As a log entry, but smaller: series by series, which is worth its time where they have many points."""
    columns = b""
    if block.rows is not None:
        columns = compress(shuffle(block.counts.astype("<u4")) + shuffle(deltas(block.rows).astype("<i4")))
    bounds = block.offsets.tolist()
    parts = [shuffle(deltas(block.ids)), columns, encode_timeline(block.steps, block.times)]
    parts += [encode_values(block.values[start:stop]) for start, stop in pairwise(bounds)]
    shape = _SHAPE.pack(len(block.steps), len(block.counts), len(block.values), block.rows is None)
    lengths = np.array([len(part) for part in parts], dtype="<u4").tobytes()
    return seal(Codec.PCODEC, b"".join((shape, lengths, *parts)))


def _unpacked(body: bytes) -> Block:
    n, c, p, dense = _SHAPE.unpack_from(body)
    lengths = np.frombuffer(body, "<u4", 3 + c, _SHAPE.size)
    ends = (_SHAPE.size + lengths.nbytes + np.cumsum(lengths, dtype=np.int64)).tolist()
    ids, columns, timeline, *values = (
        body[start:stop] for start, stop in pairwise([_SHAPE.size + lengths.nbytes, *ends])
    )
    counts, rows = np.full(c, n, dtype=np.int64), None
    if not dense:
        plain = decompress(columns)
        counts = unshuffle(plain, "<u4", 0, c).astype(np.int64)
        rows = undeltas(unshuffle(plain, "<i4", 4 * c, p).astype(np.int64))
    steps, times = decode_timeline(timeline)
    return Block(
        undeltas(unshuffle(ids, "<i8", 0, c)),
        counts,
        rows,
        steps,
        times,
        np.concatenate([decode_values(part) for part in values]),
    )
