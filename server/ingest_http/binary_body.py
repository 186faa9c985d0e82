"""The binary body of points: msgpack with raw little-endian buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from holter.server.ingest_http.json_body import (
    DECODE_ERRORS,
    BodyError,
    BodyHeader,
    FieldPath,
    LabelValue,
    LayoutCache,
    field_problem,
    missing_times,
)
from holter.types import Batch, Column, DenseColumns, FloatArray, IntArray, Labels, SeriesKey, labels_of


class RawColumn(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One series: `values`, and int64 `rows` if some rows have no value. Its labels extend the body's."""

    metric: str
    values: bytes
    labels: dict[str, LabelValue] = {}
    rows: bytes | None = None


class RawBody(BodyHeader, kw_only=True, forbid_unknown_fields=True):
    """int64 `steps`, float64 `times` (NaN: no clock), and the series over these rows.

    `values` has all `metrics` row by row; `columns` are single series; all have the type `dtype`.
    """

    steps: bytes = b""
    times: bytes | None = None
    metrics: tuple[str, ...] = ()
    values: bytes = b""
    columns: tuple[RawColumn, ...] = ()
    dtype: Literal["f8", "f4"] = "f8"


_DECODER = msgspec.msgpack.Decoder(RawBody)
_ARRAY_DECODER = msgspec.msgpack.Decoder(list[msgspec.Raw])
_ARRAY_PREFIXES = frozenset((*range(0x90, 0xA0), 0xDC, 0xDD))  # first byte of a msgpack array


def split_bodies(content: bytes) -> Sequence[bytes | msgspec.Raw]:
    """Return the bodies of a request, which is one body or an array of them. Raises BodyError."""
    if content[:1] and content[0] in _ARRAY_PREFIXES:
        try:
            return _ARRAY_DECODER.decode(content)
        except DECODE_ERRORS as error:
            raise BodyError([field_problem(error)]) from error
    return [content]


def parse_msgpack(body: bytes | msgspec.Raw, layouts: LayoutCache) -> tuple[BodyHeader, Batch, FieldPath]:
    """Return header, batch, and the path of the batch's columns in the body. Raises BodyError."""
    try:
        parsed = _DECODER.decode(body)
    except DECODE_ERRORS as error:
        raise BodyError([field_problem(error)]) from error
    steps = _integers(parsed.steps, ("steps",))
    times = (
        missing_times(len(steps))
        if parsed.times is None
        else _eight_byte_values(parsed.times, "<f8", ("times",))
    )
    labels = labels_of(parsed.labels) if parsed.labels else ()
    columns = _columns(parsed, labels, len(steps), layouts)
    return parsed, Batch(steps=steps, times=times, columns=columns), ("columns",)


def _columns(parsed: RawBody, labels: Labels, rows: int, layouts: LayoutCache) -> Sequence[Column]:
    if not parsed.columns:
        return _dense_columns(parsed, labels, rows, layouts)
    if not parsed.metrics and not any(raw.labels or raw.rows is not None for raw in parsed.columns):
        names = tuple(raw.metric for raw in parsed.columns)
        values = [
            _numbers(raw.values, parsed.dtype, rows, ("columns", index, "values"))
            for index, raw in enumerate(parsed.columns)
        ]
        return DenseColumns(layouts.find(names, labels), np.concatenate(values).reshape(len(names), rows))
    single = (_raw_column(raw, parsed, rows, index) for index, raw in enumerate(parsed.columns))
    return (*_dense_columns(parsed, labels, rows, layouts), *single)


def _dense_columns(parsed: RawBody, labels: Labels, rows: int, layouts: LayoutCache) -> Sequence[Column]:
    """Return the columns of all metrics at all rows, transposed from row-major order."""
    values = _numbers(parsed.values, parsed.dtype, rows * len(parsed.metrics), ("values",))
    if not parsed.metrics:
        return ()
    by_row = values.reshape(rows, len(parsed.metrics))
    return DenseColumns(layouts.find(parsed.metrics, labels), np.ascontiguousarray(by_row.T))


def _raw_column(raw: RawColumn, body: RawBody, count: int, index: int) -> Column:
    rows = None if raw.rows is None else _integers(raw.rows, ("columns", index, "rows"))
    expected = count if rows is None else len(rows)
    values = _numbers(raw.values, body.dtype, expected, ("columns", index, "values"))
    if rows is not None and len(rows) and not _ascending(rows, count):
        raise BodyError([(("columns", index, "rows"), f"expected ascending row numbers below {count}")])
    key = SeriesKey(raw.metric, labels_of({**body.labels, **raw.labels}))
    return Column(key=key, values=values, rows=rows)


def _ascending(rows: IntArray, below: int) -> bool:
    return bool(rows[0] >= 0 and rows[-1] < below and (np.diff(rows) > 0).all())


def _integers(raw: bytes, path: FieldPath) -> IntArray:
    return _eight_byte_values(raw, "<i8", path).astype(np.int64, copy=False)


def _eight_byte_values(raw: bytes, dtype: str, path: FieldPath) -> NDArray[Any]:
    if len(raw) % 8:
        raise BodyError([(path, f"expected values of 8 bytes each, got {len(raw)} bytes")])
    return np.frombuffer(raw, dtype)


def _numbers(raw: bytes, dtype: str, count: int, path: FieldPath) -> FloatArray:
    """Decode `count` values; float32 values are exact in float64."""
    size = int(dtype[1])
    if len(raw) != size * count:
        reason = f"expected {count} values, one for each row, of {size} bytes each, got {len(raw)} bytes"
        raise BodyError([(path, reason)])
    return np.frombuffer(raw, f"<{dtype}").astype(np.float64, copy=False)
