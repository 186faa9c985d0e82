"""Blocks: points of several series over shared rows, and their encoding in log entries."""

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
    delta_decode,
    delta_encode,
    fits_float32,
    seal,
    shuffle,
    unseal,
    unshuffle,
)
from holter.server.store.encoding.chunk import decode_timeline, decode_values, encode_timeline, encode_values
from holter.types import Batch, DenseColumns, FloatArray, IntArray

_SHAPE = Struct("<IIIB")  # number of rows, series and points; whether dense
_LENGTH = Struct("<I")


class SeriesPoints(NamedTuple):
    """Points of one series in one attempt, by step, then time; arrays [n]."""

    step: IntArray
    time: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class PointBlock:
    """Points of several series of one attempt.

    `ids` [c] are the series; `counts` [c] their numbers of points; `values` [sum of counts] one series after
    the other; `rows` the row index of each value, None if every series has all rows (dense); `steps` and
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
        """The start of each series in `values`, and the end of the last one; [c + 1]."""
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self.counts)))

    @property
    def size(self) -> int:
        """Bytes in memory."""
        columns = (self.ids, self.counts, self.rows, self.steps, self.times, self.values)
        return sum(column.nbytes for column in columns if column is not None)

    def points(self, start: int, stop: int) -> SeriesPoints:
        """The points at [start, stop) of `values`."""
        values = self.values[start:stop]
        if self.rows is None:
            return SeriesPoints(self.steps, self.times, values)
        rows = self.rows[start:stop]
        return SeriesPoints(self.steps[rows], self.times[rows], values)

    def only(self, ids: Collection[int]) -> PointBlock:
        """The same rows, restricted to these series."""
        wanted = np.isin(self.ids, np.fromiter(ids, dtype=np.int64, count=len(ids)))
        if wanted.all():
            return self
        value_mask = np.repeat(wanted, self.counts)
        return replace(
            self,
            ids=self.ids[wanted],
            counts=self.counts[wanted],
            rows=None if self.rows is None else self.rows[value_mask],
            values=self.values[value_mask],
        )

    def without_empty_rows(self) -> PointBlock:
        """The same points without rows in which no series has a value; rows sorted by step."""
        if self.rows is None:
            return self
        used, rows = np.unique(self.rows, return_inverse=True)
        order = np.argsort(self.steps[used], kind="stable")
        new_index = np.empty_like(order)
        new_index[order] = np.arange(len(order))
        used, rows = used[order], new_index[rows]
        all_rows = np.arange(len(used))
        dense = len(rows) == len(used) * len(self.ids) and bool(
            np.all(rows.reshape(len(self.ids), -1) == all_rows)
        )
        return replace(self, rows=None if dense else rows, steps=self.steps[used], times=self.times[used])


def batch_to_block(batch: Batch, ids: IntArray) -> PointBlock:
    """Convert a batch; `ids` are the ids of the batch's columns, in their order."""
    if isinstance(batch.columns, DenseColumns):
        matrix = np.ascontiguousarray(batch.columns.values, dtype=np.float64)
        counts = np.full(len(matrix), matrix.shape[1], dtype=np.int64)
        return PointBlock(ids, counts, None, batch.steps, batch.times, matrix.reshape(-1))
    counts = np.array([len(column.values) for column in batch.columns], dtype=np.int64)
    dense = all(column.rows is None for column in batch.columns)
    all_rows = np.arange(len(batch.steps), dtype=np.int64)
    rows = [all_rows if column.rows is None else column.rows for column in batch.columns]
    values = [column.values for column in batch.columns]
    return PointBlock(
        ids=ids,
        counts=counts,
        rows=None if dense else np.concatenate(rows).astype(np.int64, copy=False),
        steps=batch.steps,
        times=batch.times,
        values=np.concatenate(values) if values else np.empty(0),
    )


def encode_body(block: PointBlock) -> bytes:
    """Encode everything but the series ids, which are unknown until the batch reaches the database."""
    parts = [
        _SHAPE.pack(len(block.steps), len(block.counts), len(block.values), block.rows is None),
        shuffle(delta_encode(block.steps)),
        shuffle(delta_encode(block.times)),
    ]
    if block.rows is not None:
        parts += [shuffle(block.counts.astype("<u4")), shuffle(delta_encode(block.rows).astype("<i4"))]
    wide = _needs_float64(block)
    parts.append(np.packbits(wide).tobytes())
    if not wide.any():
        parts.append(shuffle(block.values.astype("<f4")))
    elif wide.all():
        parts.append(shuffle(block.values))
    else:
        value_mask = np.repeat(wide, block.counts)
        parts += [shuffle(block.values[~value_mask].astype("<f4")), shuffle(block.values[value_mask])]
    return compress(b"".join(parts))


def _needs_float64(block: PointBlock) -> NDArray[np.bool_]:
    """Which series need 64 bits; a series is encoded in one width, as mixing widths would cost more."""
    is_float32 = fits_float32(block.values)
    if is_float32.all():
        return np.zeros(len(block.counts), dtype=bool)
    return np.asarray(~np.logical_and.reduceat(is_float32, block.offsets[:-1]))


def encode_log_entry(ids: IntArray, body: bytes) -> bytes:
    """Encode a log entry: the series ids, then the body."""
    encoded_ids = compress(shuffle(delta_encode(ids)))
    return seal(Codec.ZSTD, _LENGTH.pack(len(encoded_ids)) + encoded_ids + body)


def encoded_series_ids(blob: bytes) -> bytes:
    """The encoded series ids of a log entry; equal bytes for equal ids. Raises CorruptDataError."""
    codec, body = unseal(blob)
    if codec is Codec.PCODEC:
        _, c, _, _ = _SHAPE.unpack_from(body)
        (length,) = _LENGTH.unpack_from(body, _SHAPE.size)
        start = _SHAPE.size + 4 * (3 + c)
    else:
        (length,), start = _LENGTH.unpack_from(body), _LENGTH.size
    return body[start : start + length]


def decode_log_entry(blob: bytes) -> PointBlock:
    """Decode a log entry. Raises CorruptDataError."""
    codec, sealed = unseal(blob)
    if codec is Codec.PCODEC:
        return _decode_by_series(sealed)
    (length,) = _LENGTH.unpack_from(sealed)
    encoded_ids = decompress(sealed[_LENGTH.size : _LENGTH.size + length])
    body = decompress(sealed[_LENGTH.size + length :])
    n, c, p, dense = _SHAPE.unpack_from(body)
    offset = _SHAPE.size
    steps = delta_decode(unshuffle(body, "<i8", offset, n))
    times = delta_decode(unshuffle(body, "<i8", offset := offset + 8 * n, n)).view(np.float64)
    offset += 8 * n
    if dense:
        counts, rows = np.full(c, n, dtype=np.int64), None
    else:
        counts = unshuffle(body, "<u4", offset, c).astype(np.int64)
        rows = delta_decode(unshuffle(body, "<i4", offset := offset + 4 * c, p).astype(np.int64))
        offset += 4 * p
    wide = np.unpackbits(np.frombuffer(body, np.uint8, (c + 7) // 8, offset), count=c).astype(bool)
    offset += (c + 7) // 8
    return PointBlock(
        delta_decode(unshuffle(encoded_ids, "<i8", 0, c)),
        counts,
        rows,
        steps,
        times,
        _decode_values(body, offset, counts, wide),
    )


def _decode_values(
    body: bytes, offset: int, counts: IntArray, wide: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> FloatArray:
    total = int(counts.sum())
    if not wide.any():
        return unshuffle(body, "<f4", offset, total).astype(np.float64)
    wide_count = int(counts[wide].sum())
    value_mask = np.repeat(wide, counts)
    values = np.empty(total)
    values[~value_mask] = unshuffle(body, "<f4", offset, total - wide_count)
    values[value_mask] = unshuffle(body, "<f8", offset + 4 * (total - wide_count), wide_count)
    return values


def encode_log_entry_by_series(block: PointBlock) -> bytes:
    """Encode a log entry series by series: smaller, and worth the time where series have many points."""
    row_columns = b""
    if block.rows is not None:
        row_columns = compress(
            shuffle(block.counts.astype("<u4")) + shuffle(delta_encode(block.rows).astype("<i4"))
        )
    bounds = block.offsets.tolist()
    parts = [shuffle(delta_encode(block.ids)), row_columns, encode_timeline(block.steps, block.times)]
    parts += [encode_values(block.values[start:stop]) for start, stop in pairwise(bounds)]
    shape = _SHAPE.pack(len(block.steps), len(block.counts), len(block.values), block.rows is None)
    lengths = np.array([len(part) for part in parts], dtype="<u4").tobytes()
    return seal(Codec.PCODEC, b"".join((shape, lengths, *parts)))


def _decode_by_series(body: bytes) -> PointBlock:
    n, c, p, dense = _SHAPE.unpack_from(body)
    lengths = np.frombuffer(body, "<u4", 3 + c, _SHAPE.size)
    ends = (_SHAPE.size + lengths.nbytes + np.cumsum(lengths, dtype=np.int64)).tolist()
    ids, row_columns, timeline, *values = (
        body[start:stop] for start, stop in pairwise([_SHAPE.size + lengths.nbytes, *ends])
    )
    counts, rows = np.full(c, n, dtype=np.int64), None
    if not dense:
        decompressed = decompress(row_columns)
        counts = unshuffle(decompressed, "<u4", 0, c).astype(np.int64)
        rows = delta_decode(unshuffle(decompressed, "<i4", 4 * c, p).astype(np.int64))
    steps, times = decode_timeline(timeline)
    return PointBlock(
        delta_decode(unshuffle(ids, "<i8", 0, c)),
        counts,
        rows,
        steps,
        times,
        np.concatenate([decode_values(part) for part in values]),
    )
