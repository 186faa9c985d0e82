"""Messages between a process that follows files and the one that has the sink: pickles of known types only.

A delivery travels in pieces of some thousand columns, so that decoding never holds the interpreter for long.
"""

from __future__ import annotations

import io
import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.ingest.safe_pickles import KnownTypesUnpickler, MessageError
from holter.types import (
    Batch,
    Column,
    DenseColumns,
    FloatArray,
    IntArray,
    Labels,
    SeriesKey,
    SeriesLayout,
)

COLUMNS_PER_PIECE = 2000
_LAYOUT, _MAPPING = (__name__, "_decoded_layout"), (__name__, "_decoded_mapping")


class Request(NamedTuple):
    """A call of a method of the sink, or a message to the supervisor where `number` is 0."""

    number: int
    method: str
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]


class Reply(NamedTuple):
    """The outcome of a request: its value, or the error that it raised; `refused`: it was a ValueError."""

    number: int
    value: Any = None
    error: str = ""
    refused: bool = False


class MessageEncoder:
    """Encodes requests. The series of dense batches are sent once for each layout."""

    def __init__(self) -> None:
        self._numbers: weakref.WeakKeyDictionary[SeriesLayout, int] = weakref.WeakKeyDictionary()
        self._forgotten: list[int] = []
        self._last = 0

    def encode(self, request: Request) -> bytes:
        """The bytes of a request. Messages must be sent in the order in which they were encoded."""
        forgotten, self._forgotten = self._forgotten, []
        pieces: list[Sequence[Column]] = []
        arguments = []
        for argument in request.arguments:
            batch = getattr(argument, "batch", None)
            if isinstance(batch, Batch) and not isinstance(batch.columns, DenseColumns):
                columns = batch.columns
                starts = range(0, len(columns), COLUMNS_PER_PIECE)
                pieces = [columns[start : start + COLUMNS_PER_PIECE] for start in starts]
                argument = replace(argument, batch=replace(batch, columns=()))
            arguments.append(argument)
        request = request._replace(arguments=tuple(arguments), named=dict(request.named))
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol=5)
        pickler.dispatch_table = {SeriesLayout: self._reduce_layout, MappingProxyType: _reduce_mapping}
        pickler.dump((forgotten, len(pieces), tuple(request)))
        for piece in pieces:
            pickler.dump(_pack(piece))
        return stream.getvalue()

    def _reduce_layout(self, layout: SeriesLayout) -> tuple[Callable[..., object], tuple[object, ...]]:
        number = self._numbers.get(layout)
        if number is not None:
            return _decoded_layout, (number, None)
        self._last += 1
        self._numbers[layout] = number = self._last
        weakref.finalize(layout, self._forgotten_add, number).atexit = False
        return _decoded_layout, (number, layout.keys)

    def _forgotten_add(self, number: int) -> None:
        self._forgotten.append(number)


class MessageDecoder:
    """Decodes the requests of one `MessageEncoder`, in their order."""

    def __init__(self) -> None:
        self._layouts: dict[int, SeriesLayout] = {}

    def decode(self, message: bytes) -> Request:
        """The request. Raises MessageError."""
        try:
            unpickler = _Unpickler(io.BytesIO(message), self._layout)
            forgotten, pieces, fields = unpickler.load()
            request = Request(*fields)
            columns = [column for _ in range(pieces) for column in _unpack(*unpickler.load())]
        except Exception as error:
            raise MessageError(f"{type(error).__name__}: {error}") from error
        for number in forgotten:
            self._layouts.pop(number, None)
        if not columns:
            return request
        delivery, *others = request.arguments
        delivery = replace(delivery, batch=replace(delivery.batch, columns=tuple(columns)))
        return request._replace(arguments=(delivery, *others))

    def _layout(self, number: int, keys: Iterable[SeriesKey] | None) -> SeriesLayout:
        if keys is not None:
            self._layouts[number] = SeriesLayout(keys)
        return self._layouts[number]


class _Unpickler(KnownTypesUnpickler):
    """Also finds layouts that have been decoded before."""

    def __init__(self, stream: io.BytesIO, layout: Callable[..., SeriesLayout]) -> None:
        super().__init__(stream)
        self._decode_layout = layout

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name. Raises MessageError for an unknown one."""
        if (module, name) == _LAYOUT:
            return self._decode_layout
        return _decoded_mapping if (module, name) == _MAPPING else super().find_class(module, name)


def _pack(columns: Sequence[Column]) -> tuple[object, ...]:
    """Columns as few arrays: one array for each would take longer to decode than to read."""
    rows: dict[int, IntArray] = {
        id(column.rows): column.rows for column in columns if column.rows is not None
    }
    index = {identity: position for position, identity in enumerate(rows)}
    return (
        [tuple(column.key) for column in columns],
        [len(column.values) for column in columns],
        np.concatenate([column.values for column in columns]),
        [-1 if column.rows is None else index[id(column.rows)] for column in columns],
        [len(array) for array in rows.values()],
        np.concatenate([*rows.values(), np.empty(0, dtype=np.int64)]),
    )


def _unpack(
    keys: Sequence[tuple[str, Labels]],
    lengths: Sequence[int],
    values: FloatArray,
    rows_of: Sequence[int],
    row_lengths: Sequence[int],
    rows: IntArray,
) -> Iterator[Column]:
    arrays = list(_cut(rows, row_lengths))
    for key, part, at in zip(keys, _cut(values, lengths), rows_of, strict=True):
        yield Column(key=SeriesKey(*key), values=part, rows=None if at < 0 else arrays[at])


def _cut(array: NDArray[Any], lengths: Sequence[int]) -> Iterator[NDArray[Any]]:
    end = 0
    for length in lengths:
        start, end = end, end + length
        yield array[start:end]


def _decoded_layout(_number: int, _keys: Iterable[SeriesKey] | None) -> SeriesLayout:
    raise MessageError("a layout is decoded by a MessageDecoder")


def _reduce_mapping(mapping: Mapping[Any, Any]) -> tuple[Callable[..., object], tuple[object, ...]]:
    return _decoded_mapping, (dict(mapping),)


def _decoded_mapping(content: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(content)


def encode_reply(reply: Reply) -> bytes:
    """The bytes of a reply."""
    return pickle.dumps(tuple(reply), protocol=5)


def decode_reply(message: bytes) -> Reply:
    """The reply. The process that sends it is the one that started this one."""
    return Reply(*pickle.loads(message))
