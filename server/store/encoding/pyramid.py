"""Pyramids: the extremes of every 512 points of a chunk with their steps and times, and the mean."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from holter.server.store.encoding.blob import Codec, compress, decompress, seal, shuffle, unseal
from holter.server.store.encoding.block import SeriesPoints
from holter.types import FloatArray, IntArray

BUCKET = 512
"""Points in a bucket."""

MIN_PYRAMID_POINTS = 4 * BUCKET
"""Chunks with fewer finite points have no pyramid: reading all of their points costs no more."""

_COUNT = Struct("<I")


class Buckets(NamedTuple):
    """Consecutive points as their extremes, which are real points, and their mean; arrays [n].

    Only finite values count; a bucket has at least one. A single point is a bucket, too.
    """

    step: IntArray  # first step of the bucket
    points: IntArray
    low_step: IntArray
    high_step: IntArray
    low_time: FloatArray
    high_time: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray


def single_point_buckets(points: SeriesPoints) -> Buckets:
    """Return each of these points, all finite, as its own bucket."""
    step, time, value = points
    return Buckets(step, np.ones(len(step), dtype=np.int64), step, step, time, time, value, value, value)


def merge_buckets(buckets: Buckets, starts: IntArray) -> Buckets:
    """Merge buckets into larger ones, each from one of `starts` [m] (ascending, the first 0) to the next."""
    if len(starts) == len(buckets.step):
        return buckets
    sizes = np.diff(starts, append=len(buckets.step))
    low_index = _first_equal(buckets.low, np.minimum.reduceat(buckets.low, starts), starts, sizes)
    high_index = _first_equal(buckets.high, np.maximum.reduceat(buckets.high, starts), starts, sizes)
    points = np.add.reduceat(buckets.points, starts)
    # weight before summing: the sum of large values could overflow where their mean does not
    weighted_means = buckets.mean * (buckets.points / np.repeat(points, sizes))
    low, high = buckets.low[low_index], buckets.high[high_index]
    return Buckets(
        buckets.step[starts],
        points,
        buckets.low_step[low_index],
        buckets.high_step[high_index],
        buckets.low_time[low_index],
        buckets.high_time[high_index],
        low,
        high,
        np.clip(np.add.reduceat(weighted_means, starts), low, high),
    )


def _first_equal(values: FloatArray, wanted: FloatArray, starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the index of the first occurrence of each group's wanted value."""
    hits = np.flatnonzero(values == np.repeat(wanted, sizes))
    return np.asarray(hits[np.searchsorted(hits, starts)])


def concatenate_buckets(parts: Sequence[Buckets]) -> Buckets:
    """Concatenate buckets in the given order."""
    if len(parts) == 1:
        return parts[0]
    return Buckets._make(np.concatenate(column) for column in zip(*parts, strict=True))


def encode_pyramid(points: SeriesPoints) -> bytes:
    """Encode the pyramid of a chunk's points; empty bytes below MIN_PYRAMID_POINTS finite points.

    The first and the last finite point are buckets of their own, so that curves begin and end with them.
    """
    finite = np.isfinite(points.value)
    if not finite.all():
        points = SeriesPoints._make(column[finite] for column in points)
    if len(points.step) < MIN_PYRAMID_POINTS:
        return b""
    ends = (
        single_point_buckets(SeriesPoints._make(column[part] for column in points))
        for part in (slice(1), slice(-1, None))
    )
    first, last = ends
    inner = _buckets(SeriesPoints._make(column[1:-1] for column in points))
    matrix = np.stack([column.view(np.int64) for column in concatenate_buckets([first, inner, last])])
    return seal(Codec.ZSTD, _COUNT.pack(matrix.shape[1]) + compress(shuffle(matrix)))


def _buckets(points: SeriesPoints) -> Buckets:
    """Equivalent to `merge_buckets(single_point_buckets(…))` of every 512 points, but much faster; all are
    finite.
    """
    step, time, value = points
    starts = np.arange(0, len(step), BUCKET)
    counts = np.diff(starts, append=len(step))
    # padded with the last point: argmin and argmax return an equal earlier one
    grid = np.pad(value, (0, -len(step) % BUCKET), mode="edge").reshape(-1, BUCKET)
    low, high = starts + grid.argmin(axis=1), starts + grid.argmax(axis=1)
    with np.errstate(over="ignore"):
        mean = np.add.reduceat(value, starts) / counts
    if not np.isfinite(mean).all():  # the sum of large values overflows where their mean does not
        mean = np.add.reduceat(value / np.repeat(counts, counts), starts)
    mean = np.clip(mean, value[low], value[high])
    return Buckets(
        step[starts], counts, step[low], step[high], time[low], time[high], value[low], value[high], mean
    )


def decompress_pyramid(blob: bytes) -> tuple[int, bytes]:
    """Return the number of buckets of a pyramid, and their shuffled bytes. Raises CorruptDataError."""
    _, body = unseal(blob)
    (count,) = _COUNT.unpack_from(body)
    return count, decompress(body[_COUNT.size :])


def decode_pyramids(pyramids_by_count: Sequence[tuple[int, bytes]]) -> Buckets:
    """Decode decompressed pyramids together, in any order; those of equal size are decoded at once."""
    sizes: dict[int, list[bytes]] = {}
    for count, data in pyramids_by_count:
        sizes.setdefault(count, []).append(data)
    columns = len(Buckets._fields)
    parts = []
    for count, pyramids in sizes.items():
        raw = np.frombuffer(b"".join(pyramids), np.uint8).reshape(len(pyramids), 8, columns, count)
        matrix = np.ascontiguousarray(raw.transpose(2, 0, 3, 1)).view("<i8").reshape(columns, -1)
        step, points, low_step, high_step, *floats = matrix
        parts.append(
            Buckets(step, points, low_step, high_step, *(column.view(np.float64) for column in floats))
        )
    return concatenate_buckets(parts)
