"""Decompression of bodies in pieces, so that a small body cannot expand beyond the limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import zstandard

CODINGS = frozenset({"identity", "gzip", "zstd"})
_PIECE = 2**20
ZSTD_WINDOW = 2**27
_RLE_BLOCK = 1  # a byte that is repeated


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
    pieces: list[bytes] = []
    size = 0
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
    _check_frame(body)  # the reader limits the output, but does not detect a truncated frame
    with zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).stream_reader(body) as reader:
        while piece := reader.read(_PIECE):
            yield piece


def _check_frame(body: bytes) -> None:
    """Raise EOFError unless the body is one complete zstd frame. Walks its blocks, decompressing nothing.

    Format: RFC 8878, section 3.1.1.
    """
    has_checksum = zstandard.get_frame_parameters(body).has_checksum
    position, last = zstandard.frame_header_size(body), False
    while not last:
        header = int.from_bytes(body[position : position + 3], "little")
        if position + 3 > len(body):
            raise EOFError("the data is truncated")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == _RLE_BLOCK else size)
    if position + 4 * has_checksum != len(body):
        raise EOFError("expected one complete frame")
