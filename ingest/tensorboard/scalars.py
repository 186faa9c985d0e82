"""Decodes the scalars in TensorBoard's Event messages, for a full block of messages at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.ingest.tensorboard import protobuf
from holter.ingest.tensorboard.jit import Kernels, PlainEvents
from holter.ingest.tensorboard.protobuf import FIXED32, FIXED64, LENGTH, VARINT, Bytes, FieldRounds, Fields
from holter.types import FloatArray, IntArray

# field numbers of event.proto, summary.proto and tensor.proto
_WALL_TIME, _STEP, _SUMMARY, _SESSION_LOG = 1, 2, 5, 7
_VALUE = 1
_TAG, _SIMPLE, _TENSOR, _METADATA = 1, 2, 8, 9
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_START = 1

_UNIT_DIMENSION = bytes((0x12, 0x02, 0x08, 0x01))
_BFLOAT16 = 14
_MAX_HASHED_LENGTH = 64  # bytes; longer tags are compared one by one
_HALF_VALUES = 13

# DataType: how one element is encoded in tensor_content
_STORED = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "<u1", 5: "<i2", 6: "<i1", 9: "<i8", 10: "<u1",
    14: "<u2", 17: "<u2", 19: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
# DataType: the field of its values, and their encoding there; varints are sign-extended to 64 bits
_LISTED: dict[int, tuple[int, str]] = {
    1: (5, "<f4"), 2: (6, "<f8"), 3: (7, "varint"), 4: (7, "varint"), 5: (7, "varint"), 6: (7, "varint"),
    9: (10, "varint"), 10: (11, "varint"), 14: (13, "varint"), 17: (7, "varint"), 19: (13, "varint"),
    22: (16, "varint"), 23: (17, "unsigned"),
}  # fmt: skip


@dataclass(kw_only=True, slots=True)
class Scalars:
    """Points in the order of their events. `event` [n] is the index of each one's event.

    `steps` and `times` have an entry per event, `broken` lists events that are not well formed, `starts`
    those that mark a new launch; `tags` [n] holds codes into `names`.
    """

    steps: IntArray
    times: FloatArray
    event: IntArray
    tags: IntArray
    values: FloatArray
    names: list[str]
    broken: IntArray
    starts: IntArray


_NEVER = 2**62


class ScalarDecoder:
    """Decodes events; remembers the tags one of whose values showed that they are no scalars."""

    def __init__(self, ignored: Iterable[str] = ()) -> None:
        self.ignored = set(ignored)
        self._ignored_from: dict[str, int] = {}  # the event of the block that showed it

    def decode(self, block: bytes, start: IntArray, end: IntArray, kernels: Kernels | None = None) -> Scalars:
        """The scalars of the events at bytes [start, end) of a block."""
        self._ignored_from = {}
        if kernels is None:
            return self._decode(block, start, end)
        plain = kernels.scan(block, start, end)
        odd = np.flatnonzero(plain.odd)
        others = self._decode(block, start[odd], end[odd]) if len(odd) else None
        self._ignored_from = {name: int(odd[event]) for name, event in self._ignored_from.items()}
        scalars = self._from_plain(plain)
        return scalars if others is None else _merge(scalars, others, odd)

    def _from_plain(self, plain: PlainEvents) -> Scalars:
        names: dict[str, int] = {}
        codes_of_spellings = [names.setdefault(_text(tag), len(names)) for tag in plain.tags]
        tags = (
            np.array(codes_of_spellings, dtype=np.int64)[plain.code]
            if len(names) < len(codes_of_spellings)
            else plain.code
        )
        event, values = plain.event, plain.values
        if self.ignored and plain.tensor.any():
            chosen = ~(plain.tensor & (event >= self._first_ignored(list(names))[tags]))
            event, tags, values = event[chosen], tags[chosen], values[chosen]
        return Scalars(
            steps=plain.steps,
            times=plain.times,
            event=event,
            tags=tags,
            values=values,
            names=list(names),
            broken=_NONE,
            starts=_NONE,
        )

    def _decode(self, block: bytes, start: IntArray, end: IntArray) -> Scalars:
        data = np.frombuffer(block + bytes(protobuf.PADDING), dtype=np.uint8)
        fields, broken = protobuf.split_fields(data, start, end)
        steps = np.zeros(len(start), dtype=np.int64)
        decoded = fields.select(_STEP, VARINT)
        steps[decoded.owner] = decoded.value.view(np.int64)
        times = np.full(len(start), np.nan)
        decoded = fields.select(_WALL_TIME, FIXED64)
        times[decoded.owner] = _gather(data, decoded.start, "<f8")
        event, values = _inner_fields(data, fields.select(_SUMMARY, LENGTH), _VALUE, broken)
        tags, names, numbers, known = self._values(block, data, values, event, broken)
        return Scalars(
            steps=steps,
            times=times,
            event=event[known],
            tags=tags[known],
            values=numbers[known],
            names=names,
            broken=np.flatnonzero(broken),
            starts=_launch_starts(data, fields.select(_SESSION_LOG, LENGTH), broken),
        )

    def _values(
        self, block: bytes, data: Bytes, spans: Fields, event: IntArray, broken: NDArray[np.bool_]
    ) -> tuple[IntArray, list[str], FloatArray, IntArray]:
        """The tag's code and the number of every Summary.Value, and which of them are scalars."""
        size = len(spans.start)
        fields, bad = protobuf.split_fields(data, spans.start, spans.end)
        broken[event[bad]] = True
        numbers, scalar = np.zeros(size), np.zeros(size, dtype=bool)
        tensors = fields.select(_TENSOR, LENGTH)
        if len(tensors.owner):
            decoded, is_scalar, malformed = _tensors(data, tensors)
            numbers[tensors.owner], scalar[tensors.owner] = decoded, is_scalar
            broken[event[tensors.owner[malformed]]] = True
        simple = fields.select(_SIMPLE, FIXED32)
        numbers[simple.owner], scalar[simple.owner] = _gather(data, simple.start, "<f4"), True
        tags, names = _tags(block, data, fields.select(_TAG, LENGTH), size)
        tensor_only = np.zeros(size, dtype=bool)
        tensor_only[tensors.owner] = True
        tensor_only[simple.owner] = False
        if np.any(tensor_only):
            metadata = fields.select(_METADATA, LENGTH)
            self._learn(block, data, metadata, tags, names, scalar & tensor_only, event)
            scalar &= ~(tensor_only & (event >= self._first_ignored(list(names))[tags]))
        scalar &= ~broken[event]
        return tags, names, numbers, np.flatnonzero(scalar)

    def _learn(
        self,
        block: bytes,
        data: Bytes,
        metadata: Fields,
        of: IntArray,
        names: list[str],
        scalar: Any,
        event: IntArray,
    ) -> None:
        """Remember tags that look like scalars but one of whose values belongs to another plugin."""
        groups, first = _group_equal(data, metadata.start, metadata.end)
        spans = zip(metadata.start[first].tolist(), metadata.end[first].tolist(), strict=True)
        foreign = [_plugin(block[start:end]) not in ("", "scalars") for start, end in spans]
        for owner in metadata.owner[np.array(foreign, dtype=bool)[groups]].tolist():
            if scalar[owner] and len(self.ignored) < 1000:
                name = names[of[owner]]
                if name not in self.ignored:
                    self.ignored.add(name)
                    self._ignored_from[name] = int(event[owner])

    def _first_ignored(self, names: Sequence[str]) -> IntArray:
        """The event of the block from which on each tag is ignored, 0 for all, a high number for none.

        A value that comes before is read, as it is when the file is read while it grows.
        """
        return np.array(
            [self._ignored_from.get(name, 0 if name in self.ignored else _NEVER) for name in names],
            dtype=np.int64,
        )


def _merge(scalars: Scalars, others: Scalars, which: IntArray) -> Scalars:
    """The scalars together with those of other events, whose indices are `which`, in order of events."""
    steps, times = scalars.steps.copy(), scalars.times.copy()
    steps[which], times[which] = others.steps, others.times
    codes = {name: code for code, name in enumerate(scalars.names)}
    coded = np.array([codes.setdefault(name, len(codes)) for name in others.names], dtype=np.int64)
    event = np.concatenate((scalars.event, which[others.event]))
    order = np.argsort(event, kind="stable")
    return Scalars(
        steps=steps,
        times=times,
        event=event[order],
        tags=np.concatenate((scalars.tags, coded[others.tags]))[order],
        values=np.concatenate((scalars.values, others.values))[order],
        names=list(codes),
        broken=which[others.broken],
        starts=which[others.starts],
    )


def _text(tag: bytes) -> str:
    return tag.decode("utf-8", "replace")


_NONE = np.empty(0, dtype=np.int64)


def _inner_fields(
    data: Bytes, outer: Fields, number: int, broken: NDArray[np.bool_]
) -> tuple[IntArray, Fields]:
    """The messages of a repeated field inside other messages, with the owners of these, in order."""
    fields, bad = protobuf.split_fields(data, outer.start, outer.end)
    broken[outer.owner[bad]] = True
    inner = fields.select(number, LENGTH)
    owner = outer.owner[inner.owner]
    if np.any(owner[1:] < owner[:-1]):
        order = np.argsort(owner, kind="stable")
        return owner[order], Fields._make(column[order] for column in inner)
    return owner, inner


def _launch_starts(data: Bytes, logs: Fields, broken: NDArray[np.bool_]) -> IntArray:
    fields, bad = protobuf.split_fields(data, logs.start, logs.end)
    broken[logs.owner[bad]] = True
    status = fields.select(1, VARINT)
    return np.unique(logs.owner[status.owner[status.value == _START]])


def _tags(block: bytes, data: Bytes, tags: Fields, size: int) -> tuple[IntArray, list[str]]:
    """The code of each value's tag, and the tags by their codes; a value without one has the tag ""."""
    groups, first = _group_equal(data, tags.start, tags.end)
    names: dict[str, int] = {"": 0}
    spans = zip(tags.start[first].tolist(), tags.end[first].tolist(), strict=True)
    codes_of_spellings = [names.setdefault(_text(block[start:end]), len(names)) for start, end in spans]
    code = np.zeros(size, dtype=np.int64)
    code[tags.owner] = np.array(codes_of_spellings, dtype=np.int64)[groups]
    return code, list(names)


def _group_equal(data: Bytes, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """A group number for each span, the same for spans with equal bytes, and one span of each group."""
    length = end - start
    if not len(start) or length.max() > _MAX_HASHED_LENGTH:
        return _group_equal_bytes(data, start, end)
    parts, hashed = [length.astype(np.uint64)], length.astype(np.uint64)
    for after in range(0, int(length.max()), 8):
        surplus = (8 * np.clip(8 + after - length, 0, 7)).astype(np.uint64)
        word = protobuf.numbers(data, "<u8")[start + np.minimum(after, length)] << surplus
        parts.append(np.where(length > after, word, np.uint64(0)))
        hashed = (hashed ^ parts[-1]) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(32)
    order = np.argsort(hashed)
    fresh = np.append(True, np.diff(hashed[order]) != 0)
    groups, first = np.empty(len(order), dtype=np.int64), order[fresh]
    groups[order] = np.cumsum(fresh) - 1
    if all(np.array_equal(part, part[first][groups]) for part in parts):
        return groups, first
    return _group_equal_bytes(data, start, end)


def _group_equal_bytes(data: Bytes, start: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    known: dict[bytes, int] = {}
    spans = zip(start.tolist(), end.tolist(), strict=True)
    groups = [known.setdefault(data[begin:stop].tobytes(), len(known)) for begin, stop in spans]
    _, first = np.unique(np.array(groups, dtype=np.int64), return_index=True)
    return np.array(groups, dtype=np.int64), first.astype(np.int64)


def _plugin(metadata: bytes) -> str:
    for field in protobuf.fields(metadata, 0, len(metadata)):
        if (field.number, field.kind) == (1, LENGTH):
            for inner in protobuf.fields(metadata, field.start, field.end):
                if (inner.number, inner.kind) == (1, LENGTH):
                    return metadata[inner.start : inner.end].decode("utf-8", "replace")
    return ""


def _tensors(data: Bytes, spans: Fields) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """The number in each TensorProto, whether it is a single number, and whether it is malformed."""
    size = len(spans.start)
    fields, malformed = protobuf.split_fields(data, spans.start, spans.end)
    dtype, content = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    decoded = fields.select(_DTYPE, VARINT)
    dtype[decoded.owner] = np.minimum(decoded.value, np.uint64(255)).astype(np.int64)
    scalar = _single(data, fields.select(_SHAPE, LENGTH), size) & ~malformed
    numbers = np.zeros(size)
    stored = fields.select(_CONTENT, LENGTH)
    content[stored.owner[stored.end > stored.start]] = True
    for kind in np.unique(dtype).tolist():
        if kind not in _STORED:
            scalar[dtype == kind] = False
            continue
        of_kind = dtype == kind
        _take_content(data, stored, of_kind & content, kind, numbers, scalar)
        _take_listed(data, fields, of_kind & ~content, kind, numbers, scalar)
    return numbers, scalar, malformed


def _single(data: Bytes, shapes: Fields, size: int) -> NDArray[np.bool_]:
    """Whether a TensorShapeProto is that of one number: no dimension, or dimensions of size 1 only."""
    single = np.ones(size, dtype=bool)
    for index in np.flatnonzero(shapes.end > shapes.start).tolist():
        shape = data[
            shapes.start[index] : min(int(shapes.end[index]), int(shapes.start[index]) + 64)
        ].tobytes()
        single[shapes.owner[index]] = shape == _UNIT_DIMENSION * (len(shape) // 4)
    return single


def _take_content(
    data: Bytes, stored: Fields, wanted: NDArray[np.bool_], dtype: int, numbers: FloatArray, scalar: Any
) -> None:
    chosen = np.flatnonzero(wanted[stored.owner])
    start, owner = stored.start[chosen], stored.owner[chosen]
    width = np.dtype(_STORED[dtype]).itemsize
    fits = stored.end[chosen] - start == width
    scalar[owner[~fits]] = False
    decoded = _gather(data, start[fits], _STORED[dtype])
    numbers[owner[fits]] = _bfloat16(decoded) if dtype == _BFLOAT16 else decoded


def _take_listed(
    data: Bytes, fields: FieldRounds, wanted: NDArray[np.bool_], dtype: int, numbers: FloatArray, scalar: Any
) -> None:
    """Values in a field of their own, packed or not; a tensor of zeros may omit them."""
    number, form = _LISTED[dtype]
    if form.startswith("<"):
        width = np.dtype(form).itemsize
        kind = FIXED32 if width == 4 else FIXED64
        packed, single = fields.select(number, LENGTH), fields.select(number, kind)
        start = np.concatenate((packed.start, single.start))
        length = np.concatenate((packed.end - packed.start, np.full(len(single.start), width)))
        owner = np.concatenate((packed.owner, single.owner))
        chosen = wanted[owner] & (length > 0)
        fits = chosen & (length == width)
        scalar[owner[chosen & ~fits]] = False
        numbers[owner[fits]] = _gather(data, start[fits], form)
        return
    packed, single = fields.select(number, LENGTH), fields.select(number, VARINT)
    value, after = protobuf.varints(data, packed.start)
    owner = np.concatenate((packed.owner, single.owner))
    fits = np.concatenate((after == packed.end, np.ones(len(single.owner), dtype=bool)))
    chosen = wanted[owner] & np.concatenate((packed.end > packed.start, fits[len(packed.owner) :]))
    scalar[owner[chosen & ~fits]] = False
    chosen &= fits
    words = np.concatenate((value, single.value))[chosen]
    numbers[owner[chosen]] = _numbers(words, dtype, form)


def _numbers(words: protobuf.Words, dtype: int, form: str) -> NDArray[Any]:
    if dtype == _BFLOAT16:
        return _bfloat16(words)
    if _LISTED[dtype][0] == _HALF_VALUES:
        return words.astype(np.uint16).view(np.float16)
    return words if form == "unsigned" else words.view(np.int64)


def _bfloat16(words: NDArray[Any]) -> NDArray[np.float32]:
    """The upper half of a float32's bits."""
    return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _gather(data: Bytes, start: IntArray, dtype: str) -> NDArray[Any]:
    gathered: NDArray[Any] = protobuf.numbers(data, dtype)[start]
    return gathered
