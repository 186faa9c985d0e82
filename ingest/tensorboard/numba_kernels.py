"""Reading of event files compiled by numba: the walk over records with their checksums, and plain events.

Importing this compiles it, or loads what an earlier process compiled. Events that are not plain are left to
the decoder in numpy, so that only one module interprets odd messages. Arrays are not passed between compiled
functions in the inner loops: numba would count references at each call, which takes longer than the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from holter.ingest.tensorboard.jit import PlainEvents
from holter.ingest.tensorboard.protobuf import PADDING, Bytes
from holter.ingest.tensorboard.records import HEADER, MASK_DELTA, TRAILER, Records
from holter.types import IntArray

_TAGS = 32_768  # more different tags in one block are left to numpy
_SLOTS = 2 * _TAGS
_LEAST = 7  # bytes of the shortest scalar value
_LONGEST = 2**40
_NONE, _SIMPLE, _TENSOR, _FLOAT, _DOUBLE = 0, 1, 2, 3, 4  # how a number is encoded in its event

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_WORDS = types.Array(types.uint64, 1, "A", readonly=True, aligned=False)
_INTS, _BITS, _FLAGS = types.int64[::1], types.uint64[::1], types.uint8[::1]


def walk(block: bytes) -> Records:
    """Compiled equivalent of `holter.ingest.tensorboard.records.RecordWalker.walk`."""
    capacity = len(block) // (HEADER + TRAILER) + 1
    start, end = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    data = np.frombuffer(block + bytes(PADDING), dtype=np.uint8)
    count, stop, length, damaged = _walk(data, _words(data), len(block), _TABLES, start, end)
    return Records(start[:count], end[:count], stop, None if length < 0 else length, bool(damaged))


def scan(block: bytes, start: IntArray, end: IntArray) -> PlainEvents:
    """The scalars of the plain events at bytes [start, end) of a block.

    A plain event has a wall time, a step and a summary of scalars, each at most once: simple values,
    or tensors of one float or double of the plugin "scalars".
    """
    data = np.frombuffer(block + bytes(PADDING), dtype=np.uint8)
    words, events = _words(data), len(start)
    steps, times = np.zeros(events, dtype=np.int64), np.full(events, np.nan)
    odd, spans = np.zeros(events, dtype=np.uint8), np.zeros((2, events), dtype=np.int64)
    _events(words, start, end, steps, times.view(np.uint64), odd, spans)
    spans_of_values = np.empty((3, len(data) // _LEAST + 1), dtype=np.int64)
    spans_of_values = spans_of_values[:, : _values(words, spans, odd, spans_of_values)]
    event, size = spans_of_values[0], spans_of_values.shape[1]
    tags, bits = np.empty((2, size), dtype=np.int64), np.zeros(size, dtype=np.uint64)
    kinds, tensors = np.zeros(size, dtype=np.uint8), np.zeros((2, size), dtype=np.int64)
    _numbers(data, words, spans_of_values, odd, tags, kinds, bits, tensors)
    tensor = kinds == _TENSOR
    if tensor.any():
        _tensors(words, tensors, event, odd, kinds, bits)
    code, first = np.empty(size, dtype=np.int64), np.empty(_TAGS, dtype=np.int64)
    tag_count = _codes(data, words, tags, event, odd, code, np.full(_SLOTS, -1, dtype=np.int64), first)
    spellings = [block[tags[0, offset] : tags[1, offset]] for offset in first[:tag_count].tolist()]
    values = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    values = np.where(kinds == _DOUBLE, bits.view(np.float64), values) if tensor.any() else values
    good = (odd[event] == 0) & (kinds != _NONE)
    if good.all():
        return PlainEvents(steps, times, odd, event, values, tensor, code, spellings)
    return PlainEvents(steps, times, odd, event[good], values[good], tensor[good], code[good], spellings)


def _words(data: Bytes) -> NDArray[np.uint64]:
    """The eight bytes from each byte on, as one integer."""
    return np.ndarray(len(data) - 7, "<u8", data, 0, 1)


def _crc_tables() -> NDArray[np.uint32]:
    """Tables of CRC32C: table [n] is for a byte with n more after it, so that eight bytes take one step."""
    tables = np.zeros((8, 256), dtype=np.uint32)
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> np.uint32(1)) ^ np.where(values & 1, np.uint32(0x82F63B78), np.uint32(0))
    tables[0] = values
    for number in range(1, 8):
        shorter = tables[number - 1]
        tables[number] = (shorter >> np.uint32(8)) ^ tables[0][shorter & np.uint32(255)]
    return tables


_TABLES = _crc_tables()
_LOW = np.uint64(0xFFFFFFFF)
_SCALARS = np.frombuffer(
    b"\x0a\x09\x0a\x07scalars\x20\x01", dtype=np.uint8
)  # the last two bytes are the data class


@njit(inline="always")
def _masked_crc(data: Any, words: Any, tables: Any, offset: Any, end: Any) -> Any:
    """CRC32C of bytes [at, end) as TFRecord stores it."""
    crc, low = _LOW, np.uint64(255)
    while offset + 8 <= end:
        word = words[offset] ^ crc
        crc = np.uint64(
            tables[7, word & low]
            ^ tables[6, word >> np.uint64(8) & low]
            ^ tables[5, word >> np.uint64(16) & low]
            ^ tables[4, word >> np.uint64(24) & low]
            ^ tables[3, word >> np.uint64(32) & low]
            ^ tables[2, word >> np.uint64(40) & low]
            ^ tables[1, word >> np.uint64(48) & low]
            ^ tables[0, word >> np.uint64(56)]
        )
        offset += 8
    while offset < end:
        crc = np.uint64(tables[0, (crc ^ np.uint64(data[offset])) & low]) ^ crc >> np.uint64(8)
        offset += 1
    crc ^= _LOW
    rotated = crc >> np.uint64(15) | crc << np.uint64(17) & _LOW
    return (rotated + np.uint64(MASK_DELTA)) & _LOW


@njit(
    types.UniTuple(types.int64, 4)(_BYTES, _WORDS, types.int64, types.uint32[:, ::1], _INTS, _INTS),  # type: ignore[no-untyped-call]
    cache=True,
    nogil=True,
)
def _walk(data: Any, words: Any, size: Any, tables: Any, start: Any, end: Any) -> Any:
    """The number of records, where the walk stops, the length of the record there (-1: no header),
    and whether that record is damaged."""
    count, offset = 0, np.int64(0)
    while offset + HEADER <= size:
        announced = words[offset]
        if (
            _masked_crc(data, words, tables, offset, offset + 8) != words[offset + 8] & _LOW
            or announced >= _LONGEST
        ):
            return count, offset, -1, 1
        length = np.int64(announced)
        begin = offset + HEADER
        stop = begin + length
        if stop + TRAILER > size:
            return count, offset, length, 0
        if _masked_crc(data, words, tables, begin, stop) != words[stop] & _LOW:
            return count, offset, length, 1
        start[count] = begin
        end[count] = stop
        count += 1
        offset = stop + TRAILER
    return count, offset, -1, 0


@njit(inline="always")
def _field(word: Any, offset: Any, end: Any) -> Any:
    """The key of the field at byte `offset`, whose first eight bytes are `word`, where its payload begins and
    ends, and a varint's value; key 0 for a field that is malformed or does not occur in plain events."""
    key, begin = np.int64(word & np.uint64(255)), offset + 1
    kind, stop, value = key & 7, offset - 1, np.uint64(0)
    if kind == 0 or kind == 2:
        rest, shift = word >> np.uint64(8), np.uint64(0)
        while rest & np.uint64(128) and shift < np.uint64(42):
            value |= (rest & np.uint64(127)) << shift
            rest, shift, begin = rest >> np.uint64(8), shift + np.uint64(7), begin + 1
        value |= (rest & np.uint64(127)) << shift
        begin += 1
        if not rest & np.uint64(128):
            stop = begin + np.int64(value) if kind == 2 else begin
    elif kind == 5:
        stop = offset + 5
    elif kind == 1:
        stop = offset + 9
    if stop <= offset or stop > end or key >= 128:
        key, stop = np.int64(0), end
    return key, begin, stop, value


@njit(types.void(_WORDS, _INTS, _INTS, _INTS, _BITS, _FLAGS, types.int64[:, ::1]), cache=True, nogil=True)
def _events(words: Any, start: Any, end: Any, steps: Any, times: Any, odd: Any, spans: Any) -> Any:
    """The step of each event, the bits of its wall time, and the span of its summary; or that it is odd."""
    for number in range(len(start)):
        offset, stop, seen = start[number], end[number], 0
        while offset < stop:
            key, begin, offset, value = _field(words[offset], offset, stop)
            bit = 1 << (key >> 3)
            if key == 9 and not seen & bit:
                times[number] = words[begin]
            elif key == 16 and not seen & bit:
                steps[number] = np.int64(value)
            elif key == 42 and not seen & bit:
                spans[0, number], spans[1, number] = begin, offset
            else:
                odd[number] = 1
                break
            seen |= bit


@njit(types.int64(_WORDS, types.int64[:, ::1], _FLAGS, types.int64[:, ::1]), cache=True, nogil=True)
def _values(words: Any, spans: Any, odd: Any, value_spans: Any) -> Any:
    """The event and the span of each Summary.Value; returns how many there are."""
    count, capacity = 0, value_spans.shape[1]
    for number in range(len(odd)):
        offset, stop = spans[0, number], spans[1, number]
        while offset < stop and not odd[number]:
            key, begin, offset, _ = _field(words[offset], offset, stop)
            if key == 10 and count < capacity:
                value_spans[0, count], value_spans[1, count], value_spans[2, count] = number, begin, offset
                count += 1
            else:
                odd[number] = 1
    return count


@njit(
    types.void(
        _BYTES,
        _WORDS,
        types.Array(types.int64, 2, "A"),
        _FLAGS,
        types.int64[:, ::1],
        _FLAGS,
        _BITS,
        types.int64[:, ::1],
    ),
    cache=True,
    nogil=True,
)
def _numbers(
    data: Any, words: Any, value_spans: Any, odd: Any, tags: Any, kinds: Any, bits: Any, tensors: Any
) -> Any:
    """The span of each value's tag, and its bits or the span of its tensor."""
    for number in range(len(kinds)):
        event, offset, stop, seen = value_spans[0, number], value_spans[1, number], value_spans[2, number], 0
        tags[0, number], tags[1, number] = offset, offset
        while offset < stop:
            key, begin, offset, _ = _field(words[offset], offset, stop)
            bit = 1 << (key >> 3)
            if key == 0 or seen & bit:
                odd[event] = 1
                break
            seen |= bit
            if key == 10:
                tags[0, number], tags[1, number] = begin, offset
            elif key == 21 and not kinds[number]:
                kinds[number], bits[number] = _SIMPLE, words[begin] & _LOW
            elif key == 66 and not kinds[number]:
                kinds[number], tensors[0, number], tensors[1, number] = _TENSOR, begin, offset
            elif key == 74 and (offset - begin == len(_SCALARS) or offset - begin == len(_SCALARS) - 2):
                for index in range(offset - begin):
                    if data[begin + index] != _SCALARS[index]:
                        odd[event] = 1
            else:
                odd[event] = 1
                break


@njit(
    types.void(_WORDS, types.int64[:, ::1], types.Array(types.int64, 1, "A"), _FLAGS, _FLAGS, _BITS),
    cache=True,
    nogil=True,
)
def _tensors(words: Any, spans: Any, event: Any, odd: Any, kinds: Any, bits: Any) -> Any:
    """The bits of the one number in each TensorProto, and whether it is a float or a double."""
    for number in range(len(kinds)):
        if kinds[number] != _TENSOR:
            continue
        offset, stop, seen, payload, width, dtype = spans[0, number], spans[1, number], 0, 0, 0, np.int64(0)
        while offset < stop:
            key, begin, offset, value = _field(words[offset], offset, stop)
            bit = 1 << (key >> 3)
            if key == 0 or seen & bit:
                width = -1
            elif key == 8:
                dtype = np.int64(value)
            elif (
                key == 34
                or (dtype == 1 and (key == 42 or key == 45))
                or (dtype == 2 and (key == 49 or key == 50))
            ) and width == 0:  # tensor_content; float_val or double_val, packed or not
                payload, width = begin, offset - begin
            elif not (key == 18 and begin == offset):  # a shape without dimensions
                width = -1
            seen |= bit
        if dtype == 1 and width == 4:
            kinds[number], bits[number] = _FLOAT, words[payload] & _LOW
        elif dtype == 2 and width == 8:
            kinds[number], bits[number] = _DOUBLE, words[payload]
        else:
            odd[event[number]] = 1


@njit(
    types.int64(
        _BYTES, _WORDS, types.int64[:, ::1], types.Array(types.int64, 1, "A"), _FLAGS, _INTS, _INTS, _INTS
    ),
    cache=True,
    nogil=True,
)
def _codes(data: Any, words: Any, tags: Any, event: Any, odd: Any, code: Any, slots: Any, first: Any) -> Any:
    """The code of each value's tag, and the `first` value with each code; returns how many tags there are."""
    tag_count, mask = 0, np.uint64(len(slots) - 1)
    for number in range(len(code)):
        begin, end = tags[0, number], tags[1, number]
        length = end - begin
        hashed, offset = np.uint64(length), begin
        while offset < end:
            word = words[offset]
            if end - offset < 8:
                word &= (np.uint64(1) << np.uint64(8 * (end - offset))) - np.uint64(1)
            hashed = (hashed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            hashed ^= hashed >> np.uint64(32)
            offset += 8
        slot = hashed & mask
        while slots[slot] >= 0:
            known = tags[0, first[slots[slot]]]
            same, index = tags[1, first[slots[slot]]] - known == length, 0
            while same and index + 8 <= length:
                same = words[known + index] == words[begin + index]
                index += 8
            while same and index < length:
                same = data[known + index] == data[begin + index]
                index += 1
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0 and tag_count < len(first):
            first[tag_count] = number
            slots[slot] = tag_count
            tag_count += 1
        code[number] = max(slots[slot], 0)
        if slots[slot] < 0:
            odd[event[number]] = 1
    return tag_count
