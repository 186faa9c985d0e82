"""Chunks: up to 32,768 points of one series; values and timeline (steps, wall times) are encoded
separately.
"""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pcodec import ChunkConfig, standalone

from holter.server.store.encoding.blob import (
    Codec,
    compress,
    decompress,
    fits_float32,
    seal,
    shuffle,
    unseal,
    unshuffle,
)
from holter.types import FloatArray, IntArray

MAX_CHUNK_POINTS = 32_768
"""Points in a full chunk."""

# 1.6 % smaller than level 4 for 2 ns a point more; level 8 would save 0.4 to 1 % more for 10 to 25 ns
_VALUE_CONFIG = ChunkConfig(compression_level=6)
_TIMELINE_CONFIG = ChunkConfig(compression_level=8)  # 1.4 % smaller, twice the time
_NUMBERS = Struct("<IB")  # count, bytes per number
_LENGTH = Struct("<I")
_MICROSECONDS = 1e6
_MAX_MICROSECONDS = 2.0**62


def encode_values(values: FloatArray) -> bytes:
    """Encode the values of a chunk bit for bit, as float32 where that is exact."""
    numbers = values.astype(np.float32) if fits_float32(values).all() else values
    return _encode(numbers)


def decode_values(blob: bytes) -> FloatArray:
    """Decode the values of a chunk as float64. Raises CorruptDataError."""
    return decode_numbers(blob).astype(np.float64, copy=False)


def decode_numbers(blob: bytes) -> NDArray[Any]:
    """Decode the values of a chunk in their stored width. Raises CorruptDataError."""
    return _decode(*unseal(blob), {4: "<f4", 8: "<f8"})


def encode_timeline(steps: IntArray, times: FloatArray) -> bytes:
    """Encode steps and wall times as one blob."""
    encoding, columns = _encode_times(times)
    parts = [_encode(column, _TIMELINE_CONFIG) for column in (steps, *columns)]
    lengths = b"".join(_LENGTH.pack(len(part)) for part in parts)
    return seal(Codec.PLAIN, bytes((encoding,)) + lengths + b"".join(parts))


def decode_steps(blob: bytes) -> IntArray:
    """Decode the steps of a timeline: a fifth of the work of its times. Raises CorruptDataError."""
    _, (steps, *_) = _timeline_columns(blob)
    return _decode(*unseal(steps), {8: "<i8"})


def _timeline_columns(blob: bytes) -> tuple[_TimeEncoding, list[bytes]]:
    """How the times are encoded, and the encoded steps and columns of times."""
    _, body = unseal(blob)
    encoding = _TimeEncoding(body[0])
    head = 1 + _LENGTH.size * (3 if encoding is _TimeEncoding.CORRECTED else 2)
    lengths = [length for (length,) in _LENGTH.iter_unpack(body[1:head])]
    return encoding, [body[start:stop] for start, stop in pairwise(accumulate(lengths, initial=head))]


def decode_timeline(blob: bytes) -> tuple[IntArray, FloatArray]:
    """Decode steps and wall times. Raises CorruptDataError."""
    encoding, columns = _timeline_columns(blob)
    parts = [unseal(column) for column in columns]
    steps = _decode(*parts[0], {8: "<i8"})
    if encoding is _TimeEncoding.FLOATS:
        return steps, _decode(*parts[1], {8: "<f8"})
    times = _decode(*parts[1], {8: "<i8"}) / _MICROSECONDS
    if encoding is _TimeEncoding.CORRECTED:
        times = (times.view(np.int64) + _decode(*parts[2], {8: "<i8"})).view(np.float64)
    return steps, times


class _TimeEncoding(IntEnum):
    """Encoding of wall times: integer microseconds are smaller, and most clocks have that resolution."""

    FLOATS = 0
    MICROSECONDS = 1
    CORRECTED = 2  # microseconds, with corrections of floats that are not the nearest to theirs


def _encode_times(times: FloatArray) -> tuple[_TimeEncoding, list[NDArray[Any]]]:
    with np.errstate(over="ignore", invalid="ignore"):
        microseconds = times * _MICROSECONDS
    if not np.all(np.abs(microseconds) < _MAX_MICROSECONDS):  # also true for NaN
        return _TimeEncoding.FLOATS, [times]
    rounded = np.rint(microseconds).astype(np.int64)
    corrections = times.view(np.int64) - (rounded / _MICROSECONDS).view(np.int64)
    correction_count = np.count_nonzero(corrections)
    if correction_count > len(times) // 64:
        return _TimeEncoding.FLOATS, [times]
    return (
        (_TimeEncoding.CORRECTED, [rounded, corrections])
        if correction_count
        else (_TimeEncoding.MICROSECONDS, [rounded])
    )


def timeline_digest(steps: IntArray, times: FloatArray) -> bytes:
    """Return the digest under which equal timelines of a run are stored once."""
    return blake2b(times.tobytes(), key=blake2b(steps.tobytes()).digest(), digest_size=16).digest()


def _encode(numbers: NDArray[Any], config: ChunkConfig = _VALUE_CONFIG) -> bytes:
    encoded = _pcodec(numbers, config)
    if encoded is not None:
        return seal(Codec.PCODEC, encoded)
    head = _NUMBERS.pack(len(numbers), numbers.dtype.itemsize)
    return seal(Codec.ZSTD, head + compress(shuffle(numbers)))


def _pcodec(numbers: NDArray[Any], config: ChunkConfig) -> bytes | None:
    """Encode by pcodec; None unless decoding returns every bit: pcodec is young, and this is the only
    copy.
    """
    try:
        encoded: bytes = standalone.simple_compress(numbers, config)
        decoded = standalone.simple_decompress(encoded)
    except RuntimeError:
        return None
    return encoded if decoded is not None and decoded.tobytes() == numbers.tobytes() else None


def _decode(codec: Codec, body: bytes, types: dict[int, str]) -> NDArray[Any]:
    if codec is Codec.PCODEC:
        numbers: NDArray[Any] = standalone.simple_decompress(body)
        return numbers
    count, size = _NUMBERS.unpack_from(body)
    return unshuffle(decompress(body[_NUMBERS.size :]), types[size], 0, count)
