"""The binary form of points over HTTP: msgpack with raw little-endian buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from holter.server.ingest_http.json_body import (
    UNREADABLE,
    BodyError,
    Header,
    LabelValue,
    Shapes,
    Where,
    no_clock,
    problem,
)
from holter.types import Batch, Column, DenseColumns, FloatArray, IntArray, Labels, SeriesKey, labels_of


class RawColumn(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One series: `values`, and int64 `rows` where some rows have none. Its labels add to the body's."""

    metric: str
    values: bytes
    labels: dict[str, LabelValue] = {}
    rows: bytes | None = None


class RawBody(Header, kw_only=True, forbid_unknown_fields=True):
    """int64 `steps`, float64 `times` (NaN: no clock), and the series over these rows.

    `values` has those of all `metrics`, row after row; `columns` those of single series; all of `dtype`.
    """

    steps: bytes = b""
    times: bytes | None = None
    metrics: tuple[str, ...] = ()
    values: bytes = b""
    columns: tuple[RawColumn, ...] = ()
    dtype: Literal["f8", "f4"] = "f8"


_RAW = msgspec.msgpack.Decoder(RawBody)
_SEVERAL = msgspec.msgpack.Decoder(list[msgspec.Raw])
_ARRAYS = frozenset((*range(0x90, 0xA0), 0xDC, 0xDD))  # what a msgpack array begins with


def bodies_in(content: bytes) -> Sequence[bytes | msgspec.Raw]:
    """The bodies of a request: those of an array, one after the other, or what is one itself.

    Raises BodyError.
    """
    if content[:1] and content[0] in _ARRAYS:
        try:
            return _SEVERAL.decode(content)
        except UNREADABLE as error:
            raise BodyError([problem(error)]) from error
    return [content]


def parse_msgpack(body: bytes | msgspec.Raw, shapes: Shapes) -> tuple[Header, Batch, Where]:
    """Header, batch, and where in the body the batch's columns stand. Raises BodyError."""
    try:
        parsed = _RAW.decode(body)
    except UNREADABLE as error:
        raise BodyError([problem(error)]) from error
    steps = _integers(parsed.steps, ("steps",))
    times = no_clock(len(steps)) if parsed.times is None else _eights(parsed.times, "<f8", ("times",))
    labels = labels_of(parsed.labels) if parsed.labels else ()
    columns = _columns(parsed, labels, len(steps), shapes)
    return parsed, Batch(steps=steps, times=times, columns=columns), ("columns",)


def _columns(parsed: RawBody, labels: Labels, rows: int, shapes: Shapes) -> Sequence[Column]:
    if not parsed.columns:
        return _table(parsed, labels, rows, shapes)
    if not parsed.metrics and not any(raw.labels or raw.rows is not None for raw in parsed.columns):
        names = tuple(raw.metric for raw in parsed.columns)
        values = [
            _numbers(raw.values, parsed.dtype, rows, ("columns", n, "values"))
            for n, raw in enumerate(parsed.columns)
        ]
        return DenseColumns(shapes.find(names, labels), np.concatenate(values).reshape(len(names), rows))
    single = (_raw_column(raw, parsed, rows, n) for n, raw in enumerate(parsed.columns))
    return (*_table(parsed, labels, rows, shapes), *single)


def _table(parsed: RawBody, labels: Labels, rows: int, shapes: Shapes) -> Sequence[Column]:
    """All metrics at all rows, from row after row to series after series."""
    values = _numbers(parsed.values, parsed.dtype, rows * len(parsed.metrics), ("values",))
    if not parsed.metrics:
        return ()
    by_row = values.reshape(rows, len(parsed.metrics))
    return DenseColumns(shapes.find(parsed.metrics, labels), np.ascontiguousarray(by_row.T))


def _raw_column(raw: RawColumn, body: RawBody, count: int, place: int) -> Column:
    rows = None if raw.rows is None else _integers(raw.rows, ("columns", place, "rows"))
    expected = count if rows is None else len(rows)
    values = _numbers(raw.values, body.dtype, expected, ("columns", place, "values"))
    if rows is not None and len(rows) and not _ascending(rows, count):
        raise BodyError([(("columns", place, "rows"), f"expected ascending row numbers below {count}")])
    key = SeriesKey(raw.metric, labels_of({**body.labels, **raw.labels}))
    return Column(key=key, values=values, rows=rows)


def _ascending(rows: IntArray, below: int) -> bool:
    return bool(rows[0] >= 0 and rows[-1] < below and (np.diff(rows) > 0).all())


def _integers(raw: bytes, place: Where) -> IntArray:
    return _eights(raw, "<i8", place).astype(np.int64, copy=False)


def _eights(raw: bytes, kind: str, place: Where) -> NDArray[Any]:
    if len(raw) % 8:
        raise BodyError([(place, f"expected values of 8 bytes each, got {len(raw)} bytes")])
    return np.frombuffer(raw, kind)


def _numbers(raw: bytes, dtype: str, count: int, place: Where) -> FloatArray:
    """`count` values; those of 32 bits are exact in 64."""
    size = int(dtype[1])
    if len(raw) != size * count:
        reason = f"expected {count} values, one for each row, of {size} bytes each, got {len(raw)} bytes"
        raise BodyError([(place, reason)])
    return np.frombuffer(raw, f"<{dtype}").astype(np.float64, copy=False)
