"""Compressed bodies, unpacked piece by piece so that no small one becomes a large one unseen."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import zstandard

CODINGS = frozenset({"identity", "gzip", "zstd"})
_PIECE = 2**20
ZSTD_WINDOW = 2**27


class TooLargeError(ValueError):
    """A body is larger than allowed, before or after decompression."""

    def __init__(self, limit: int, setting: str = "max_batch_mb: send smaller batches") -> None:
        super().__init__(f"the body is larger than {limit // 2**20} MiB ({setting})")


class CompressionError(ValueError):
    """A body is not compressed as it says."""


def decompress(body: bytes, coding: str, limit: int, grow: Callable[[int], None]) -> bytes:
    """The body as it was before compression; `grow` hears of each piece's bytes before they are kept.

    Raises TooLargeError beyond `limit` bytes, CompressionError, and what `grow` raises.
    """
    if coding == "identity":
        return body
    pieces, size = [], 0
    try:
        for piece in _gunzip(body) if coding == "gzip" else _unzstd(body):
            size += len(piece)
            if size > limit:
                raise TooLargeError(limit)
            grow(len(piece))
            pieces.append(piece)
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise CompressionError(f"the body is not {coding}: {error}") from error
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _gunzip(body: bytes) -> Iterator[bytes]:
    unzip = zlib.decompressobj(wbits=31)
    piece = unzip.decompress(body, _PIECE)
    while piece:
        yield piece
        piece = unzip.decompress(unzip.unconsumed_tail, _PIECE)
    if not unzip.eof:
        raise EOFError("it ends too early")
    if unzip.unused_data:
        raise zlib.error("something follows its end")


def _unzstd(body: bytes) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    with decompressor.stream_reader(body) as reader:
        while piece := reader.read(_PIECE):
            yield piece
    # the reader bounds what comes out but does not tell a frame that was cut off
    unzip = decompressor.decompressobj()
    unzip.decompress(body)
    if not unzip.eof or unzip.unused_data:
        raise EOFError("expected one whole frame")
