"""Decompression of bodies in pieces, so that a small body cannot expand beyond the limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import zstandard

CODINGS = frozenset({"identity", "gzip", "zstd"})
_PIECE = 2**20
ZSTD_WINDOW = 2**27


class TooLargeError(ValueError):
    """A body exceeds the limit, before or after decompression."""

    def __init__(self, limit: int, setting: str = "max_batch_mb: send smaller batches") -> None:
        super().__init__(f"the body is larger than {limit // 2**20} MiB ({setting})")


class CompressionError(ValueError):
    """A body is not encoded as its Content-Encoding states."""


def decompress(body: bytes, coding: str, limit: int, grow: Callable[[int], None]) -> bytes:
    """Decompress a body; `grow` is called with the size of each piece before it is stored.

    Raises TooLargeError beyond `limit` bytes, CompressionError, and what `grow` raises.
    """
    if coding == "identity":
        return body
    pieces, size = [], 0
    try:
        for piece in _gzip_pieces(body) if coding == "gzip" else _zstd_pieces(body):
            size += len(piece)
            if size > limit:
                raise TooLargeError(limit)
            grow(len(piece))
            pieces.append(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise CompressionError(f"the body is not {coding}: {error}") from error
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _gzip_pieces(body: bytes) -> Iterator[bytes]:
    decompressor = zlib.decompressobj(wbits=31)
    piece = decompressor.decompress(body, _PIECE)
    while piece:
        yield piece
        piece = decompressor.decompress(decompressor.unconsumed_tail, _PIECE)
    if not decompressor.eof:
        raise EOFError("the data is truncated")
    if decompressor.unused_data:
        raise zlib.error("trailing data")


def _zstd_pieces(body: bytes) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    with decompressor.stream_reader(body) as reader:
        while piece := reader.read(_PIECE):
            yield piece
    # the reader limits the output but does not detect a truncated frame
    checker = decompressor.decompressobj()
    checker.decompress(body)
    if not checker.eof or checker.unused_data:
        raise EOFError("expected one complete frame")
