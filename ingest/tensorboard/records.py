"""TFRecord framing (length, checksum, data, checksum): finds records, and the next valid one after damage."""

from __future__ import annotations

import io
import struct
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from google_crc32c import value as crc32c
from numpy.typing import NDArray

from holter.types import IntArray

HEADER = 12
TRAILER = 4
_WINDOW = 1024 * 1024
_FIRST_WINDOW = 4096
_MAX_CHECKED = 16 * 1024 * 1024
"""Bytes of data up to which a record after damage is checked before it is returned to."""
_MAX_LENGTH = 2**40  # bytes; a larger length is noise
MASK_DELTA = 0xA282EAD8
_MAX_TABLE_LENGTH = 512  # bytes; the checksums of longer ones are computed one by one
_ALL = np.uint32(0xFFFFFFFF)


class Records(NamedTuple):
    """The records found in a block: data at bytes [start, end), and why the search ended at byte `stop`.

    `length` is that of the record at `stop` if its header is valid: the record is incomplete, or, with
    `damaged`, its data does not match its checksum. None: the header is incomplete, or, with `damaged`,
    invalid.
    """

    start: IntArray
    end: IntArray
    stop: int
    length: int | None
    damaged: bool


class RecordWalker:
    """Finds the records of blocks."""

    def walk(self, block: bytes) -> Records:
        """The complete records from the block's first byte on, up to the first that is not, or is damaged."""
        offsets, length = _chain(block)
        start, end = offsets + HEADER, offsets + HEADER + length
        mismatches = np.flatnonzero(masked_crcs(block, start, end) != _stored(block, end))
        if len(mismatches):
            first_bad = int(mismatches[0])
            return Records(
                start[:first_bad], end[:first_bad], int(offsets[first_bad]), int(length[first_bad]), True
            )
        stop = int(end[-1]) + TRAILER if len(end) else 0
        header = block[stop : stop + HEADER]
        data_length = read_header(header)
        damaged = data_length is None and len(header) == HEADER
        return Records(start, end, stop, data_length, damaged)


def _chain(block: bytes) -> tuple[IntArray, IntArray]:
    """Where complete records begin that follow one another from byte 0 on, and how long their data is.

    All headers in the block are found at once, by their zeros and checksums. A record mostly ends where the
    next header begins; what looks like a header within the data of a record is left out, since it does not.
    """
    headers, length = _headers(block)
    following = headers + length + (HEADER + TRAILER)
    breaks = np.flatnonzero(following[:-1] != headers[1:])
    pieces, position, index = [], 0, 0
    while index < len(headers) and headers[index] == position:
        next_break = int(np.searchsorted(breaks, index))
        last = int(breaks[next_break]) if next_break < len(breaks) else len(headers) - 1
        pieces.append(np.arange(index, last + 1))
        position = int(following[last])
        index = int(np.searchsorted(headers, position))
    chosen = np.concatenate(pieces) if pieces else _NONE
    chosen = chosen[following[chosen] <= len(block)]
    return headers[chosen], length[chosen]


def _headers(block: bytes) -> tuple[IntArray, IntArray]:
    """The positions of all headers of records shorter than 16 MiB, and the lengths of their data."""
    if len(block) < HEADER:
        return _NONE, _NONE
    zero = np.frombuffer(block, dtype=np.uint8) == 0
    last = len(block) - HEADER + 1
    zeros = zero[3 : last + 3] & zero[4 : last + 4]
    for byte in (5, 6, 7):
        zeros &= zero[byte : last + byte]
    # not preallocated zeros: the checksum of a length of 0 does not begin with a zero
    zeros &= ~(zero[:last] & zero[1 : last + 1] & zero[2 : last + 2] & zero[8 : last + 8])
    candidates = np.flatnonzero(zeros)
    length = _numbers(block, "<u4")[candidates]
    crc = np.full(len(candidates), _CRC_OF_ZEROS[8], dtype=np.uint32)
    for byte in range(3):
        crc ^= _CRC_TABLES[7 - byte][length >> np.uint32(8 * byte) & np.uint32(255)]
    good = _masked(crc) == _stored(block, candidates + 8)
    return candidates[good], length[good].astype(np.int64)


def masked_crcs(block: bytes, start: IntArray, end: IntArray) -> NDArray[np.uint32]:
    """CRC32C, as TFRecord stores it, of bytes [start, end) for all of these at once.

    There are at least eight bytes before each end. The contribution of a byte to the checksum depends only on
    how many bytes follow it, so that eight bytes are taken from each end at a time.
    """
    length = end - start
    crc = np.zeros(len(start), dtype=np.uint32)
    long = np.flatnonzero(length > _MAX_TABLE_LENGTH)
    for index in long.tolist():
        crc[index] = crc32c(block[start[index] : end[index]])
    order = np.argsort(-np.minimum(length, _MAX_TABLE_LENGTH + 1).astype(np.int16), kind="stable")[
        len(long) :
    ]
    ends, remaining = end[order], length[order]
    sums = _CRC_OF_ZEROS[remaining]
    words = _numbers(block, "<u8")
    for done in range(0, int(remaining[0]) if len(remaining) else 0, 8):
        count = int(np.searchsorted(-remaining, -done))  # those longer than that
        word = words[ends[:count] - (done + 8)]
        short = np.searchsorted(
            -remaining[:count], -(done + 8), side="right"
        )  # those with less than eight left
        surplus = (8 * (8 + done - remaining[short:count])).astype(np.uint64)
        word[short:] = word[short:] >> surplus << surplus
        word_bytes = word.view(np.uint8).reshape(-1, 8)
        for byte in range(8):
            sums[:count] ^= _CRC_TABLES[done + 7 - byte].take(word_bytes[:, byte])
    crc[order] = sums
    crc[long] = crc[long] ^ _ALL
    return _masked(crc)


def _stored(block: bytes, offset: IntArray) -> NDArray[np.uint32]:
    return _numbers(block, "<u4")[offset]


def _numbers(block: bytes, dtype: str) -> NDArray[Any]:
    """The number that begins at each byte, without a copy."""
    width = np.dtype(dtype).itemsize
    return np.ndarray(max(0, len(block) - width + 1), dtype, block, 0, 1)


def _masked(crc: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Checksums that are not inverted yet, in the form that TFRecord stores."""
    crc = crc ^ _ALL
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK_DELTA)


def read_header(header: bytes) -> int | None:
    """The length of the data after a header, None if the header is invalid."""
    if len(header) != HEADER:
        return None
    length, stored = struct.unpack("<QI", header)
    good = masked_crc(header[:8]) == stored and length < _MAX_LENGTH
    return int(length) if good else None


def masked_crc(data: bytes) -> int:
    """CRC32C in the form that TFRecord stores: rotated and offset, so that checksums of checksums differ."""
    crc: int = crc32c(data)
    return ((crc >> 15 | crc << 17) + MASK_DELTA) & 0xFFFFFFFF


def find_record(stream: BinaryIO, after: int) -> int | None:
    """The first byte from `after` on at which an intact record begins, or one that is not complete yet.

    None if there is none up to the end.
    """
    while (position := find_header(stream, after)) is not None:
        stream.seek(position)
        length = read_header(stream.read(HEADER))
        if length is None or length > _MAX_CHECKED:
            return position
        data = stream.read(length + TRAILER)
        if len(data) < length + TRAILER or masked_crc(data[:length]) == _stored_crc(data, length):
            return position
        after = position + 1
    return None


def walk_through_damage(block: bytes, records: Records) -> tuple[Records, list[tuple[int, int]]]:
    """The records of a block also behind damage, and the spans of damage; `records` end at the first one.

    One after the other, which is quicker than a search for each where there is much damage. The result is
    `damaged` where nothing intact follows in the block.
    """
    start, end, gaps = records.start.tolist(), records.end.tolist(), list[tuple[int, int]]()
    stream, position, length = io.BytesIO(block), records.stop, records.length
    damaged = True
    while damaged and (following := find_record(stream, position + 1)) is not None:
        gaps.append((position, following))
        position = following
        while True:
            header = block[position : position + HEADER]
            length = read_header(header)
            damaged = length is None and len(header) == HEADER
            data = position + HEADER
            if length is None or data + length + TRAILER > len(block):
                break
            damaged = masked_crc(block[data : data + length]) != _stored_crc(block, data + length)
            if damaged:
                break
            start.append(data)
            end.append(data + length)
            position = data + length + TRAILER
    arrays = np.array(start, dtype=np.int64), np.array(end, dtype=np.int64)
    return Records(*arrays, position, length, damaged), gaps


def _stored_crc(data: bytes, offset: int) -> int:
    (crc,) = struct.unpack_from("<I", data, offset)
    return int(crc)


def find_header(stream: BinaryIO, after: int) -> int | None:
    """The first byte from `after` on at which a record begins, None if there is none up to the end."""
    stream.seek(after)
    size = _FIRST_WINDOW  # the next record is mostly near
    window = stream.read(size)
    while len(window) >= HEADER:
        data = np.frombuffer(window, dtype=np.uint8)
        width = len(window) - HEADER + 1
        # lengths below 2^40: three zero bytes, and not all eight zero
        zeros = (data[5 : width + 5] == 0) & (data[6 : width + 6] == 0) & (data[7 : width + 7] == 0)
        zeros &= (data[:width] != 0) | (data[1 : width + 1] != 0) | (data[2 : width + 2] != 0)
        for offset in np.flatnonzero(zeros).tolist():
            if read_header(window[offset : offset + HEADER]) is not None:
                return after + int(offset)
        after += width
        size = min(2 * size, _WINDOW)
        more = stream.read(size)
        if not more:
            break
        window = window[width:] + more
    return None


def only_zeros(stream: BinaryIO, after: int) -> bool:
    """Whether there are only zero bytes from `after` to the end, as in preallocated space."""
    stream.seek(after)
    while window := stream.read(_WINDOW):
        if window.count(0) != len(window):
            return False
    return True


_NONE = np.empty(0, dtype=np.int64)


def _crc_tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The contribution of a byte with n more after it, [n, byte]; the raw checksum of n zeros, [n]."""
    single = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        single = (single >> np.uint32(1)) ^ np.where(
            single & np.uint32(1), np.uint32(0x82F63B78), np.uint32(0)
        )
    tables = np.empty((_MAX_TABLE_LENGTH + 8, 256), dtype=np.uint32)
    before = np.empty(_MAX_TABLE_LENGTH + 1, dtype=np.uint32)
    tables[0], before[0] = single, _ALL
    for number in range(1, len(tables)):
        shorter = tables[number - 1]
        tables[number] = (shorter >> np.uint32(8)) ^ single[shorter & np.uint32(255)]
    for number in range(1, len(before)):
        state = before[number - 1]
        before[number] = (state >> np.uint32(8)) ^ single[state & np.uint32(255)]
    return tables, before


_CRC_TABLES, _CRC_OF_ZEROS = _crc_tables()
