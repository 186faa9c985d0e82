"""Blobs with a header of version, codec and checksum; byte shuffle and delta encodings that compress well."""

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
_HEADER = Struct("<BBI")  # version, codec, CRC-32C of codec byte and body
_CODEC_CRCS = [crc32c(bytes((codec,))) for codec in range(256)]
_COLUMNWISE_MIN = 4096  # from this many numbers on, unshuffle byte column by byte column
_local = threading.local()  # zstd contexts are expensive to create and not thread-safe


class Codec(IntEnum):
    """Encoding of a blob's body. The numbers are stored: never change one."""

    ZSTD = 1
    PCODEC = 2
    PLAIN = 3


def seal(codec: Codec, body: bytes) -> bytes:
    """Prepend the header (version, codec, CRC-32C of codec and body)."""
    return _HEADER.pack(_VERSION, codec, crc32c_and(_CODEC_CRCS[codec], body)) + body


def unseal(blob: bytes) -> tuple[Codec, bytes]:
    """Return codec and body of a blob after checking its checksum. Raises CorruptDataError."""
    if len(blob) < _HEADER.size:
        raise CorruptDataError(f"blob too short: {len(blob)} bytes")
    version, codec, checksum = _HEADER.unpack_from(blob)
    body = blob[_HEADER.size :]
    if version != _VERSION:
        raise CorruptDataError(f"unknown blob version {version}: damaged, or written by a newer Holter")
    if crc32c_and(_CODEC_CRCS[codec], body) != checksum:
        raise CorruptDataError("checksum mismatch")
    return Codec(codec), body


def compress(data: bytes) -> bytes:
    """Compress with Zstandard at its fastest level."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=1)
    compressed: bytes = _local.compressor.compress(data)
    return compressed


def decompress(data: bytes, first: int | None = None) -> bytes:
    """Decompress all, or the first `first` bytes."""
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    if first is None:
        decompressed: bytes = _local.decompressor.decompress(data)
    else:
        decompressed = _local.decompressor.stream_reader(data).read(first)
    return decompressed


def shuffle(values: NDArray[Any]) -> bytes:
    """Byte shuffle: the first bytes of all numbers, then all second bytes, and so on; similar bytes compress
    better.
    """
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.dtype.itemsize)
    return raw.T.tobytes()


def unshuffle(data: bytes, dtype: str, start: int, count: int) -> NDArray[Any]:
    """Return `count` numbers of `dtype` from shuffled bytes that begin at `start`."""
    size = np.dtype(dtype).itemsize
    raw = np.frombuffer(data, np.uint8, count * size, start).reshape(size, count)
    if count < _COLUMNWISE_MIN:
        return np.ascontiguousarray(raw.T).view(dtype).reshape(count)
    numbers = np.zeros((count, size), dtype=np.uint8)
    for byte_index, byte_column in enumerate(raw):
        if byte_column.any():  # in small numbers most bytes are zero
            numbers[:, byte_index] = byte_column
    return numbers.view(dtype).reshape(count)


def delta_encode(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the differences of successive 64-bit patterns, wrapping around: exact for floats, too."""
    bits = values.view(np.int64)
    differences = bits.copy()  # np.diff is five times slower for few numbers
    np.subtract(bits[1:], bits[:-1], out=differences[1:])
    return differences


def delta_decode(differences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Reverse `delta_encode`: the 64-bit patterns as int64."""
    return np.cumsum(differences, dtype=np.int64)


def fits_float32(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values survive a conversion to float32 and back bit for bit; [n]."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        restored = values.astype(np.float32).astype(np.float64)
    return np.asarray(restored.view(np.int64) == values.view(np.int64))
