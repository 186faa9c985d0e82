"""Sealed blobs: version, codec and checksum before the bytes, and numbers as bytes that compress."""

from __future__ import annotations

import threading
from enum import IntEnum
from struct import Struct
from typing import Any

import numpy as np
import zstandard
from google_crc32c import extend as crc32c_and
from google_crc32c import value as crc32c
from numpy.typing import NDArray

from holter.server.store.errors import CorruptDataError

_VERSION = 1
_HEADER = Struct("<BBI")  # version, codec, checksum of the codec's byte and the body
_OF_CODEC = [crc32c(bytes((codec,))) for codec in range(256)]
_MANY = 4096  # numbers from which on bytes are moved place by place
_local = threading.local()  # zstd's contexts are expensive to make and belong to one thread


class Codec(IntEnum):
    """How the body of a blob is encoded. Numbers are stored: never change one."""

    ZSTD = 1
    PCODEC = 2
    PLAIN = 3


def seal(codec: Codec, body: bytes) -> bytes:
    """The body with its header."""
    return _HEADER.pack(_VERSION, codec, crc32c_and(_OF_CODEC[codec], body)) + body


def unseal(blob: bytes) -> tuple[Codec, bytes]:
    """Codec and body of a blob. Raises CorruptDataError unless every byte is as it was written."""
    if len(blob) < _HEADER.size:
        raise CorruptDataError(f"{len(blob)} bytes are no blob")
    version, codec, checksum = _HEADER.unpack_from(blob)
    body = blob[_HEADER.size :]
    if version != _VERSION:
        raise CorruptDataError(f"version {version} is unknown: damaged, or written by a newer Holter")
    if crc32c_and(_OF_CODEC[codec], body) != checksum:
        raise CorruptDataError("the checksum does not match")
    return Codec(codec), body


def compress(data: bytes) -> bytes:
    """Zstandard at its fastest level."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=1)
    compressed: bytes = _local.compressor.compress(data)
    return compressed


def decompress(data: bytes, first: int | None = None) -> bytes:
    """What `compress` was given, or the first so many bytes of it."""
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    if first is None:
        plain: bytes = _local.decompressor.decompress(data)
    else:
        plain = _local.decompressor.stream_reader(data).read(first)
    return plain


def shuffle(values: NDArray[Any]) -> bytes:
    """The first bytes of all numbers, then all the second ones, and so on: they resemble each other more."""
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.dtype.itemsize)
    return raw.T.tobytes()


def unshuffle(data: bytes, dtype: str, start: int, count: int) -> NDArray[Any]:
    """`count` numbers of a type out of shuffled bytes that begin at `start`."""
    size = np.dtype(dtype).itemsize
    raw = np.frombuffer(data, np.uint8, count * size, start).reshape(size, count)
    if count < _MANY:
        return np.ascontiguousarray(raw.T).view(dtype).reshape(count)
    numbers = np.zeros((count, size), dtype=np.uint8)
    for at, place in enumerate(raw):
        if place.any():  # of small numbers most bytes are nothing
            numbers[:, at] = place
    return numbers.view(dtype).reshape(count)


def deltas(values: NDArray[Any]) -> NDArray[np.int64]:
    """Each 64-bit number's bits minus those before it, wrapping around: exact for floats as well."""
    bits = values.view(np.int64)
    differences = bits.copy()  # np.diff costs five times as much where there are few numbers
    np.subtract(bits[1:], bits[:-1], out=differences[1:])
    return differences


def undeltas(differences: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bits of which `deltas` took the differences."""
    return np.cumsum(differences, dtype=np.int64)


def narrow(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values come back bit for bit from a 32-bit float."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        back = values.astype(np.float32).astype(np.float64)
    return np.asarray(back.view(np.int64) == values.view(np.int64))
