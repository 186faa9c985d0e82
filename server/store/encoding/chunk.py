"""Chunks: up to 32,768 points of one series, their values apart from their timeline, and both as bytes."""

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
    narrow,
    seal,
    shuffle,
    unseal,
    unshuffle,
)
from holter.types import FloatArray, IntArray

CHUNK = 32_768
"""Points of a full chunk."""

# 1.6 % smaller than level 4 for 2 ns a point; level 8 would save 0.4 to 1 % more for 10 to 25 ns
_CONFIG = ChunkConfig(compression_level=6)
_OF_TIMELINES = ChunkConfig(compression_level=8)  # 1.4 % smaller, twice the work: once for all metrics
_NUMBERS = Struct("<IB")  # how many, bytes each
_LENGTH = Struct("<I")
_MICROS = 1e6
_FAR = 2.0**62


def encode_values(values: FloatArray) -> bytes:
    """The values of a chunk, bit for bit, in 32 bits where that is exact."""
    numbers = values.astype(np.float32) if narrow(values).all() else values
    return _encode(numbers)


def decode_values(blob: bytes) -> FloatArray:
    """The values of a chunk. Raises CorruptDataError."""
    return decode_numbers(blob).astype(np.float64, copy=False)


def decode_numbers(blob: bytes) -> NDArray[Any]:
    """The values of a chunk in 32 bits if that is how they are kept. Raises CorruptDataError."""
    return _decode(*unseal(blob), {4: "<f4", 8: "<f8"})


def encode_timeline(steps: IntArray, times: FloatArray) -> bytes:
    """Steps and wall times as one blob."""
    form, columns = _form_of(times)
    parts = [_encode(column, _OF_TIMELINES) for column in (steps, *columns)]
    lengths = b"".join(_LENGTH.pack(len(part)) for part in parts)
    return seal(Codec.PLAIN, bytes((form,)) + lengths + b"".join(parts))


def decode_timeline(blob: bytes) -> tuple[IntArray, FloatArray]:
    """Steps and wall times of a timeline. Raises CorruptDataError."""
    _, body = unseal(blob)
    form = _Form(body[0])
    head = 1 + _LENGTH.size * (3 if form is _Form.NEARLY else 2)
    lengths = [length for (length,) in _LENGTH.iter_unpack(body[1:head])]
    parts = [unseal(body[start:stop]) for start, stop in pairwise(accumulate(lengths, initial=head))]
    steps = _decode(*parts[0], {8: "<i8"})
    if form is _Form.FLOATS:
        return steps, _decode(*parts[1], {8: "<f8"})
    times = _decode(*parts[1], {8: "<i8"}) / _MICROS
    if form is _Form.NEARLY:
        times = (times.view(np.int64) + _decode(*parts[2], {8: "<i8"})).view(np.float64)
    return steps, times


class _Form(IntEnum):
    """How wall times are kept: whole microseconds take less, and most clocks are read, or logged, to one."""

    FLOATS = 0
    MICROSECONDS = 1
    NEARLY = 2  # microseconds, and the bits by which some floats are others than the nearest to them


def _form_of(times: FloatArray) -> tuple[_Form, list[NDArray[Any]]]:
    with np.errstate(over="ignore", invalid="ignore"):
        micros = times * _MICROS
    if not np.all(np.abs(micros) < _FAR):  # nor NaN
        return _Form.FLOATS, [times]
    whole = np.rint(micros).astype(np.int64)
    missing = times.view(np.int64) - (whole / _MICROS).view(np.int64)
    some = np.count_nonzero(missing)
    if some > len(times) // 64:
        return _Form.FLOATS, [times]
    return (_Form.NEARLY, [whole, missing]) if some else (_Form.MICROSECONDS, [whole])


def digest(steps: IntArray, times: FloatArray) -> bytes:
    """What equal timelines have in common, and no others."""
    return blake2b(times.tobytes(), key=blake2b(steps.tobytes()).digest(), digest_size=16).digest()


def _encode(numbers: NDArray[Any], config: ChunkConfig = _CONFIG) -> bytes:
    packed = _pcodec(numbers, config)
    if packed is not None:
        return seal(Codec.PCODEC, packed)
    head = _NUMBERS.pack(len(numbers), numbers.dtype.itemsize)
    return seal(Codec.ZSTD, head + compress(shuffle(numbers)))


def _pcodec(numbers: NDArray[Any], config: ChunkConfig) -> bytes | None:
    """Encoded by pcodec, None if it does not give back every bit: it is young, and this is the only copy."""
    try:
        packed: bytes = standalone.simple_compress(numbers, config)
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
