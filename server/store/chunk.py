"""Chunks: up to 16,384 points of one series, their values apart from their timeline, and both as bytes."""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pcodec import ChunkConfig, standalone

from holter.server.store.seal import Codec, compress, decompress, narrow, seal, shuffle, unseal, unshuffle
from holter.types import FloatArray, IntArray

CHUNK = 16_384
"""Points of a full chunk."""

_CONFIG = ChunkConfig(compression_level=4)
_NUMBERS = Struct("<IB")  # how many, bytes each
_LENGTH = Struct("<I")
_MICROS = 1e6


def encode_values(values: FloatArray) -> bytes:
    """The values of a chunk, bit for bit, in 32 bits where that is exact."""
    numbers = values.astype(np.float32) if narrow(values).all() else values
    return _encode(numbers)


def decode_values(blob: bytes) -> FloatArray:
    """The values of a chunk. Raises CorruptDataError."""
    codec, body = unseal(blob)
    return _decode(codec, body, {4: "<f4", 8: "<f8"}).astype(np.float64, copy=False)


def encode_timeline(steps: IntArray, times: FloatArray) -> bytes:
    """Steps and wall times as one blob: times as whole microseconds where that is exact."""
    first = _encode(steps)
    packed = _pcodec(micros) if (micros := _microseconds(times)) is not None else None
    second = _encode(times) if packed is None else seal(Codec.PCODEC, packed)
    return seal(Codec.PLAIN, _LENGTH.pack(len(first)) + first + second)


def decode_timeline(blob: bytes) -> tuple[IntArray, FloatArray]:
    """Steps and wall times of a timeline. Raises CorruptDataError."""
    _, body = unseal(blob)
    (length,) = _LENGTH.unpack_from(body)
    steps = _decode(*unseal(body[_LENGTH.size : _LENGTH.size + length]), {8: "<i8"})
    times = _decode(*unseal(body[_LENGTH.size + length :]), {8: "<f8"})
    return steps, times / _MICROS if times.dtype == np.int64 else times


def _microseconds(times: FloatArray) -> IntArray | None:
    """The times as integers, None unless every bit comes back from them."""
    micros = times * _MICROS
    if not np.all(np.abs(micros) < 2**62):  # neither NaN nor infinite
        return None
    whole = np.rint(micros).astype(np.int64)
    return whole if np.array_equal((whole / _MICROS).view(np.int64), times.view(np.int64)) else None


def digest(steps: IntArray, times: FloatArray) -> bytes:
    """What equal timelines have in common, and no others."""
    return blake2b(times.tobytes(), key=blake2b(steps.tobytes()).digest(), digest_size=16).digest()


def _encode(numbers: NDArray[Any]) -> bytes:
    packed = _pcodec(numbers)
    if packed is not None:
        return seal(Codec.PCODEC, packed)
    head = _NUMBERS.pack(len(numbers), numbers.dtype.itemsize)
    return seal(Codec.ZSTD, head + compress(shuffle(numbers)))


def _pcodec(numbers: NDArray[Any]) -> bytes | None:
    """Encoded by pcodec, None if it does not give back every bit: it is young, and this is the only copy."""
    try:
        packed: bytes = standalone.simple_compress(numbers, _CONFIG)
        back = standalone.simple_decompress(packed)
    except RuntimeError:
        return None
    return packed if back is not None and back.tobytes() == numbers.tobytes() else None


def _decode(codec: Codec, body: bytes, types: dict[int, str]) -> NDArray[Any]:
    if codec is Codec.PCODEC:
        numbers: NDArray[Any] = standalone.simple_decompress(body)
        return numbers
    count, size = _NUMBERS.unpack_from(body)
    return unshuffle(decompress(body[_NUMBERS.size :]), types[size], 0, count)
