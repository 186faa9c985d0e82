"""LevelDB's log format as wandb writes it: blocks of 32 KiB, records in one or more pieces, checksums."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

MAGIC = b":W&B\xe1\xbe\x00"
BLOCK = 32_768
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class RecordFrame(NamedTuple):
    """A complete record, and the byte of the file after it."""

    payload: bytes
    end: int


class WalkedRecords(NamedTuple):
    """The complete records in some bytes of a file, and the byte after which nothing is known yet.

    `damaged` are the positions from which bytes were skipped up to the next block.
    """

    frames: list[RecordFrame]
    stop: int
    damaged: list[int]


def walk_records(data: bytes, base: int) -> WalkedRecords:
    """The complete records of `data`, which begins with a record at byte `base` of its file."""
    frames: list[RecordFrame] = []
    damaged: list[int] = []
    position, stop, pieces = 0, 0, list[bytes]()
    while True:
        left = BLOCK - (base + position) % BLOCK
        if left < _HEADER.size:  # too little for a header: padding
            position += left
            stop = position if not pieces else stop
            continue
        if position + _HEADER.size > len(data):
            break
        checksum, size, kind = _HEADER.unpack_from(data, position)
        start, end = position + _HEADER.size, position + _HEADER.size + size
        fits = _FULL <= kind <= _LAST and size <= left - _HEADER.size
        if fits and end > len(data):
            break
        if not fits or zlib.crc32(data[position + 6 : end]) != checksum:
            if position + left > len(data):  # the block may still be written to
                break
            damaged.append(base + position)
            position, pieces = position + left, []
            stop = position
            continue
        if kind in (_FULL, _FIRST):
            pieces = []
        elif not pieces:  # the rest of a record whose beginning is damaged
            position = stop = end
            continue
        pieces.append(data[start:end])
        position = end
        if kind in (_FULL, _LAST):
            frames.append(RecordFrame(b"".join(pieces), base + position))
            pieces, stop = [], position
    return WalkedRecords(frames, base + min(stop, len(data)), damaged)
