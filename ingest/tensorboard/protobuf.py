"""Protocol Buffers' wire format, decoded for many messages at once: a field of each per round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.types import IntArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
PADDING = 16
"""The number of bytes after the last message in the buffer, so that no read goes beyond it."""

_FEW = 16  # for fewer messages plain Python is faster than a round of array operations
_PLAIN = 0x7F
_LARGEST = 2**62


class Field(NamedTuple):
    """One field of one message. `value` is a varint's value; else the payload is bytes [start, end)."""

    number: int
    kind: int
    start: int
    end: int
    value: int


class Fields(NamedTuple):
    """Fields of several messages; all arrays have the same length.

    The fields of a message are in its own order, with those of other messages between them. `owner` is the
    index of the message that a field belongs to; for the other arrays see `Field`.
    """

    owner: IntArray
    number: IntArray
    kind: IntArray
    start: IntArray
    end: IntArray
    value: Words

    def select(self, number: int, kind: int) -> Fields:
        """The fields with this number and wire type."""
        chosen = np.flatnonzero((self.number == number) & (self.kind == kind))
        return Fields._make(column[chosen] for column in self)


class FieldRounds(list[tuple[Fields, int | None]]):
    """Fields of messages, one per message and round; with the key of the round, None if its keys differ.

    The messages of one writer have their fields in one order, so that most rounds have one key.
    """

    def select(self, number: int, kind: int) -> Fields:
        """The fields of all rounds with this number and wire type."""
        wanted = number << 3 | kind
        return _joined(
            [
                fields if key == wanted else fields.select(number, kind)
                for fields, key in self
                if key is None or key == wanted
            ]
        )


def split_fields(data: Bytes, start: IntArray, end: IntArray) -> tuple[FieldRounds, NDArray[np.bool_]]:
    """The fields of the messages at bytes [start, end), and which messages are malformed.

    `data` has `PADDING` bytes after the last message. The fields of a malformed message before the fault
    are included. Groups, deprecated since 2008, count as malformed.
    """
    broken = np.zeros(len(start), dtype=bool)
    active = np.flatnonzero(start < end)
    position = start.astype(np.int64)
    rounds = FieldRounds()
    position, stop = position[active], end[active]
    while len(active) >= _FEW:
        key = _common_key(data, position)
        decoded, after = (
            _round(data, active, position) if key is None else _round_of_key(data, active, position, key)
        )
        good = after <= stop
        if key is None:
            good &= decoded.kind >= 0
        if not good.all():
            broken[active[~good]] = True
            decoded = Fields._make(column[good] for column in decoded)
        rounds.append((decoded, key))
        going = good & (after < stop)
        if going.all():
            position = after
        else:
            active, position, stop = active[going], after[going], stop[going]
    if len(active):
        rounds.append((_finish(data, active, position, stop, broken), None))
    return rounds, broken


def _common_key(data: Bytes, position: IntArray) -> int | None:
    """The key at all of these bytes, None if they differ or it is none."""
    keys = data[position]
    key = int(keys[0])
    plain = 7 < key <= _PLAIN and key & 7 in (VARINT, FIXED64, LENGTH, FIXED32)
    return key if plain and bool((keys == key).all()) else None


def _round_of_key(data: Bytes, active: IntArray, position: IntArray, key: int) -> tuple[Fields, IntArray]:
    """The same as `_round`, for fields that all have the same known key."""
    kind, start = key & 7, position + 1
    value = np.zeros(len(active), dtype=np.uint64) if kind in (FIXED64, FIXED32) else None
    if value is not None:
        after = start + (8 if kind == FIXED64 else 4)
    else:
        value, after = varints(data, start)
    if kind == LENGTH:
        start = after
        after = start + np.minimum(value, np.uint64(len(data))).astype(np.int64)
    after = np.where(after > len(data) - PADDING, _LARGEST, after)
    number, kinds = (np.broadcast_to(np.int64(constant), len(active)) for constant in (key >> 3, kind))
    return Fields(active, number, kinds, start, after, value), after


def _round(data: Bytes, active: IntArray, position: IntArray) -> tuple[Fields, IntArray]:
    """The next field of each active message, and where the field after it begins; kind -1 if malformed."""
    key, offset = varints(data, position)
    kind = (key & np.uint64(7)).astype(np.int64)
    number = (key >> np.uint64(3)).astype(np.int64)
    start, after = offset, offset.copy()
    value = np.zeros(len(active), dtype=np.uint64)
    numeric = np.flatnonzero((kind == VARINT) | (kind == LENGTH))
    if len(numeric):
        value[numeric], after[numeric] = varints(data, offset[numeric])
    sized = np.flatnonzero(kind == LENGTH)
    if len(sized):
        start = offset.copy()
        start[sized] = after[sized]
        after[sized] += np.minimum(value[sized], np.uint64(len(data))).astype(np.int64)
    after[kind == FIXED64] += 8
    after[kind == FIXED32] += 4
    kind[((kind != VARINT) & (kind != LENGTH) & (kind != FIXED64) & (kind != FIXED32)) | (number == 0)] = -1
    after[after > len(data) - PADDING] = _LARGEST
    return Fields(active, number, kind, start, after, value), after


def _finish(
    data: Bytes, active: IntArray, position: IntArray, end: IntArray, broken: NDArray[np.bool_]
) -> Fields:
    rows: list[tuple[int, int, int, int, int, int]] = []
    for owner, offset, stop in zip(active.tolist(), position.tolist(), end.tolist(), strict=True):
        for field in fields(data.data, offset, stop):
            rows.append((owner, *field))
            offset = field.end
        broken[owner] |= offset != stop
    table = np.array([row[:5] for row in rows], dtype=np.int64).reshape(-1, 5)
    value = np.array([row[5] for row in rows], dtype=np.uint64)
    return Fields(table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4], value)


def fields(data: bytes | memoryview, start: int, end: int) -> Iterator[Field]:
    """The fields of one message, up to its end or its first fault; `data` may contain its beginning only."""
    offset = start
    while offset < end:
        key, offset = _varint(data, offset, end)
        number, kind = key >> 3, key & 7
        begin, value = offset, 0
        if kind == VARINT:
            value, offset = _varint(data, offset, end)
        elif kind == LENGTH:
            value, begin = _varint(data, offset, end)
            offset = begin + value
        else:
            offset += {FIXED64: 8, FIXED32: 4}.get(kind, _LARGEST)
        if offset > end or not number:
            return
        yield Field(number, kind, begin, offset, value)


def _varint(data: bytes | memoryview, offset: int, end: int) -> tuple[int, int]:
    value = 0
    end = min(end, len(data))
    for shift in range(0, 70, 7):
        if offset >= end:
            return 0, _LARGEST
        byte = data[offset]
        offset += 1
        value |= (byte & _PLAIN) << shift
        if byte <= _PLAIN:
            return value & 0xFFFF_FFFF_FFFF_FFFF, offset
    return 0, _LARGEST


def varints(data: Bytes, offset: IntArray) -> tuple[Words, IntArray]:
    """The varints that begin at these bytes, and where each ends: at the end of `data` if it has no end."""
    byte = data[offset]
    value = (byte & _PLAIN).astype(np.uint64)
    after = offset + 1
    more = np.flatnonzero(byte > _PLAIN)
    for shift in range(7, 70, 7):
        if not len(more):
            return value, after
        next_byte = after[more]
        byte = data[np.minimum(next_byte, len(data) - 1)]
        value[more] |= (byte & _PLAIN).astype(np.uint64) << np.uint64(shift)
        after[more] = next_byte + 1
        more = more[byte > _PLAIN]
    after[more] = len(data) - 1
    return value, after


def numbers(data: Bytes, dtype: str) -> NDArray[Any]:
    """The number that begins at each byte, without a copy."""
    width = np.dtype(dtype).itemsize
    return np.ndarray(max(0, len(data) - width + 1), dtype, data, 0, 1)


def _joined(rounds: list[Fields]) -> Fields:
    if not rounds:
        none = np.empty(0, dtype=np.int64)
        return Fields(none, none, none, none, none, none.astype(np.uint64))
    if len(rounds) == 1:
        return rounds[0]
    return Fields._make(np.concatenate(columns) for columns in zip(*rounds, strict=True))
