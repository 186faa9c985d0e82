"""TFRecord framing: length, checksum, data, checksum; finding records, and the next good one after damage."""

from __future__ import annotations

import struct
from typing import BinaryIO, NamedTuple

import numpy as np
from google_crc32c import value as crc32c

from holter.types import IntArray

HEADER = 12
TRAILER = 4
_WINDOW = 1024 * 1024
_LONGEST = 2**40  # bytes; beyond it a length is noise
MASK_DELTA = 0xA282EAD8
_HEADERS_KEPT = 65_536


class Records(NamedTuple):
    """The records found in a block: data at bytes [start, end), and why the search ended at byte `stop`.

    `length` is that of the record at `stop` where its header is good: it is incomplete, or, with `damaged`,
    its data does not match its checksum. None: the header is incomplete, or, with `damaged`, not a header.
    """

    start: IntArray
    end: IntArray
    stop: int
    length: int | None
    damaged: bool


class Walker:
    """Walks from record to record. Remembers headers seen: the records of a log have few lengths."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def walk(self, block: bytes) -> Records:
        """The complete records from the block's first byte on, up to the first that is not, or is damaged."""
        ends: list[int] = []
        starts: list[int] = []
        sums: list[int] = []
        known, at, size = self._known, 0, len(block)
        length: int | None
        damaged = False
        while True:
            header = block[at : at + HEADER]
            length = known.get(header)
            if length is None:
                length = self._read_header(header)
                if length is None:
                    damaged = len(header) == HEADER
                    break
            start = at + HEADER
            end = start + length
            if end + TRAILER > size:
                break
            sums.append(crc32c(block[start:end]))
            starts.append(start)
            ends.append(end)
            at = end + TRAILER
        return _verified(block, starts, ends, sums, Records(_NONE, _NONE, at, length, damaged))

    def _read_header(self, header: bytes) -> int | None:
        length = read_header(header)
        if length is not None:
            if len(self._known) >= _HEADERS_KEPT:
                self._known.clear()
            self._known[header] = length
        return length


def _verified(block: bytes, starts: list[int], ends: list[int], sums: list[int], rest: Records) -> Records:
    start, end = np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)
    if not len(start):
        return rest
    data = np.frombuffer(block, dtype=np.uint8)
    stored = data[end[:, None] + np.arange(TRAILER)].view("<u4")[:, 0]
    crc = np.array(sums, dtype=np.uint32)
    masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK_DELTA)
    wrong = np.flatnonzero(masked != stored)
    if not len(wrong):
        return rest._replace(start=start, end=end)
    bad = int(wrong[0])
    stop, length = starts[bad] - HEADER, ends[bad] - starts[bad]
    return Records(start[:bad], end[:bad], stop, length, True)


def read_header(header: bytes) -> int | None:
    """The length of the data after a header, None if this is not a header."""
    if len(header) != HEADER:
        return None
    length, stored = struct.unpack("<QI", header)
    good = masked_crc(header[:8]) == stored and length < _LONGEST
    return int(length) if good else None


def masked_crc(data: bytes) -> int:
    """CRC32C as TFRecord stores it: rotated and offset, so that a checksum of checksums differs from both."""
    crc: int = crc32c(data)
    return ((crc >> 15 | crc << 17) + MASK_DELTA) & 0xFFFFFFFF


def find_header(stream: BinaryIO, after: int) -> int | None:
    """The first byte from `after` on at which a record begins, None if there is none up to the end."""
    stream.seek(after)
    window = stream.read(_WINDOW)
    while len(window) >= HEADER:
        data = np.frombuffer(window, dtype=np.uint8)
        last = len(window) - HEADER + 1
        # lengths below 2^40: three zero bytes, and not all eight zero
        zeros = (data[5 : last + 5] == 0) & (data[6 : last + 6] == 0) & (data[7 : last + 7] == 0)
        zeros &= (data[:last] != 0) | (data[1 : last + 1] != 0) | (data[2 : last + 2] != 0)
        for at in np.flatnonzero(zeros).tolist():
            if read_header(window[at : at + HEADER]) is not None:
                return after + int(at)
        after += last
        more = stream.read(_WINDOW)
        if not more:
            break
        window = window[last:] + more
    return None


def only_zeros(stream: BinaryIO, after: int) -> bool:
    """Whether nothing but zero bytes stands from `after` to the end: room that a file system set aside."""
    stream.seek(after)
    while window := stream.read(_WINDOW):
        if window.count(0) != len(window):
            return False
    return True


_NONE = np.empty(0, dtype=np.int64)
