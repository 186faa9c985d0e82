"""Pyramids: the extremes of every 512 points of a chunk, where they stand, and the mean."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from holter.server.store.encoding.blob import Codec, compress, decompress, seal, shuffle, unseal
from holter.server.store.encoding.block import Points
from holter.types import FloatArray, IntArray

BUCKET = 512
"""Points of a bucket."""

WORTHWHILE = 4 * BUCKET
"""Chunks with fewer finite points have no pyramid: reading them whole costs no more."""

_COUNT = Struct("<I")


class Buckets(NamedTuple):
    """Neighbouring points as their extremes, which are real points, and their mean; arrays [n].

    Only finite values count; a bucket has at least one. A single point is a bucket too.
    """

    step: IntArray  # at which the bucket begins
    points: IntArray
    low_step: IntArray
    high_step: IntArray
    low_time: FloatArray
    high_time: FloatArray
    low: FloatArray
    high: FloatArray
    mean: FloatArray


def single(points: Points) -> Buckets:
    """Each of these points, all finite, as its own bucket."""
    step, time, value = points
    return Buckets(step, np.ones(len(step), dtype=np.int64), step, step, time, time, value, value, value)


def regroup(buckets: Buckets, starts: IntArray) -> Buckets:
    """Larger buckets, each from one of `starts` [m] (ascending, the first 0) to before the next one."""
    if len(starts) == len(buckets.step):
        return buckets
    sizes = np.diff(starts, append=len(buckets.step))
    at_low = _first_equal(buckets.low, np.minimum.reduceat(buckets.low, starts), starts, sizes)
    at_high = _first_equal(buckets.high, np.maximum.reduceat(buckets.high, starts), starts, sizes)
    points = np.add.reduceat(buckets.points, starts)
    # shares before sums: the sum of large values could overflow where their mean does not
    shares = buckets.mean * (buckets.points / np.repeat(points, sizes))
    low, high = buckets.low[at_low], buckets.high[at_high]
    return Buckets(
        buckets.step[starts],
        points,
        buckets.low_step[at_low],
        buckets.high_step[at_high],
        buckets.low_time[at_low],
        buckets.high_time[at_high],
        low,
        high,
        np.clip(np.add.reduceat(shares, starts), low, high),
    )


def _first_equal(values: FloatArray, wanted: FloatArray, starts: IntArray, sizes: IntArray) -> IntArray:
    """For each group, where its wanted value first stands."""
    hits = np.flatnonzero(values == np.repeat(wanted, sizes))
    return np.asarray(hits[np.searchsorted(hits, starts)])


def concatenate(parts: Sequence[Buckets]) -> Buckets:
    """Buckets one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Buckets._make(np.concatenate(column) for column in zip(*parts, strict=True))


def encode(points: Points) -> bytes:
    """The pyramid of a chunk; empty where it is not worth while.

    The first and the last finite point are buckets of their own: with them, curves begin and end.
    """
    finite = np.isfinite(points.value)
    if not finite.all():
        points = Points._make(column[finite] for column in points)
    if len(points.step) < WORTHWHILE:
        return b""
    ends = (single(Points._make(column[at] for column in points)) for at in (slice(1), slice(-1, None)))
    first, last = ends
    inner = _buckets(Points._make(column[1:-1] for column in points))
    matrix = np.stack([column.view(np.int64) for column in concatenate([first, inner, last])])
    return seal(Codec.ZSTD, _COUNT.pack(matrix.shape[1]) + compress(shuffle(matrix)))


def _buckets(points: Points) -> Buckets:
    """What `regroup(single(…))` says of every 512 points, in a fraction of the time; all are finite."""
    step, time, value = points
    starts = np.arange(0, len(step), BUCKET)
    counts = np.diff(starts, append=len(step))
    # the last point again and again: an equal one before it is found first
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


def open_pyramid(blob: bytes) -> tuple[int, bytes]:
    """How many buckets a pyramid has, and their shuffled bytes. Raises CorruptDataError."""
    _, body = unseal(blob)
    (count,) = _COUNT.unpack_from(body)
    return count, decompress(body[_COUNT.size :])


def decode(opened: Sequence[tuple[int, bytes]]) -> Buckets:
    """The buckets of opened pyramids, together, in no order: most have one size and decode at once."""
    sizes: dict[int, list[bytes]] = {}
    for count, data in opened:
        sizes.setdefault(count, []).append(data)
    columns = len(Buckets._fields)
    parts = []
    for count, held in sizes.items():
        raw = np.frombuffer(b"".join(held), np.uint8).reshape(len(held), 8, columns, count)
        matrix = np.ascontiguousarray(raw.transpose(2, 0, 3, 1)).view("<i8").reshape(columns, -1)
        step, points, low_step, high_step, *floats = matrix
        parts.append(
            Buckets(step, points, low_step, high_step, *(column.view(np.float64) for column in floats))
        )
    return concatenate(parts)
