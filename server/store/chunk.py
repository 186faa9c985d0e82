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


def encode_values(values: FloatArray) -> bytes:
    """The values of a chunk, bit for bit, in 32 bits where that is exact."""
    numbers = values.astype(np.float32) if narrow(values).all() else values
    return _encode(numbers)


def decode_values(blob: bytes) -> FloatArray:
    """The values of a chunk. Raises CorruptDataError."""
    codec, body = unseal(blob)
    return _decode(codec, body, {4: "<f4", 8: "<f8"}).astype(np.float64, copy=False)


def encode_timeline(steps: IntArray, times: FloatArray) -> bytes:
    """Steps and wall times as one blob."""
    first = _encode(steps)
    return seal(Codec.PLAIN, _LENGTH.pack(len(first)) + first + _encode(times))


def decode_timeline(blob: bytes) -> tuple[IntArray, FloatArray]:
    """Steps and wall times of a timeline. Raises CorruptDataError."""
    _, body = unseal(blob)
    (length,) = _LENGTH.unpack_from(body)
    steps = _decode(*unseal(body[_LENGTH.size : _LENGTH.size + length]), {8: "<i8"})
    return steps, _decode(*unseal(body[_LENGTH.size + length :]), {8: "<f8"})


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
