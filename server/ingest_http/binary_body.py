"""The binary body of points: msgpack with raw little-endian buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from holter.server.ingest_http.body_limits import (
    MAX_SERIES,
    BodyError,
    FieldPath,
    check_body_count,
    check_label_count,
    check_series_count,
    check_setting_bytes,
    msgpack_items,
)
from holter.server.ingest_http.json_body import (
    DECODE_ERRORS,
    BodyHeader,
    BodySetting,
    LabelValue,
    LayoutCache,
    field_problem,
    missing_times,
)
from holter.types import Batch, Column, DenseColumns, FloatArray, IntArray, Labels, SeriesKey, labels_of

_T = TypeVar("_T")
_NOTHING = msgspec.Raw()  # a field that is not there


class RawColumn(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One series: `values`, and int64 `rows` if some rows have no value. Its labels extend the body's."""

    metric: str
    values: bytes
    labels: msgspec.Raw = _NOTHING
    rows: bytes | None = None


class RawBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """int64 `steps`, float64 `times` (NaN: no clock), and the series over these rows; a BodyHeader's fields.

    `values` has all `metrics` row by row; `columns` are single series; all have the type `dtype`. Fields that
    may have many items are decoded once their size is known.
    """

    project: str
    run: str
    attempt: str | int | None = None
    writer: str | None = None
    batch_id: str | None = None
    labels: msgspec.Raw = _NOTHING
    restarts: bool = False
    config: msgspec.Raw = _NOTHING
    settings: msgspec.Raw = _NOTHING
    finished: bool = False
    steps: bytes = b""
    times: bytes | None = None
    metrics: msgspec.Raw = _NOTHING
    values: bytes = b""
    columns: msgspec.Raw = _NOTHING
    dtype: Literal["f8", "f4"] = "f8"


_DECODER = msgspec.msgpack.Decoder(RawBody)
_LABELS = msgspec.msgpack.Decoder(dict[str, LabelValue])
_CONFIG = msgspec.msgpack.Decoder(dict[str, Any])
_SETTINGS = msgspec.msgpack.Decoder(tuple[BodySetting, ...])
_METRICS = msgspec.msgpack.Decoder(tuple[str, ...])
_COLUMNS = msgspec.msgpack.Decoder(tuple[RawColumn, ...])
_ARRAY_DECODER = msgspec.msgpack.Decoder(list[msgspec.Raw])
_ARRAY_PREFIXES = frozenset((*range(0x90, 0xA0), 0xDC, 0xDD))  # first byte of a msgpack array


def split_bodies(content: bytes) -> Sequence[bytes | msgspec.Raw]:
    """Return the bodies of a request, which is one body or an array of them. Raises BodyError."""
    if content[:1] and content[0] in _ARRAY_PREFIXES:
        check_body_count(msgpack_items(content))
        try:
            return _ARRAY_DECODER.decode(content)
        except DECODE_ERRORS as error:
            raise BodyError([field_problem(error)]) from error
    return [content]


def parse_msgpack(body: bytes | msgspec.Raw, layouts: LayoutCache) -> tuple[BodyHeader, Batch, FieldPath]:
    """Return header, batch, and the path of the batch's columns in the body. Raises BodyError."""
    parsed = _decode(_DECODER, body, ())
    header = _header(parsed)
    steps = _integers(parsed.steps, ("steps",))
    times = (
        missing_times(len(steps))
        if parsed.times is None
        else _eight_byte_values(parsed.times, "<f8", ("times",))
    )
    columns = _columns(parsed, header, len(steps), layouts)
    return header, Batch(steps=steps, times=times, columns=columns), ("columns",)


def _decode(decoder: msgspec.msgpack.Decoder[_T], raw: bytes | msgspec.Raw, path: FieldPath) -> _T:
    try:
        return decoder.decode(raw)
    except DECODE_ERRORS as error:
        inner_path, reason = field_problem(error)
        raise BodyError([((*path, *inner_path), reason)]) from error


def _header(parsed: RawBody) -> BodyHeader:
    return BodyHeader(
        project=parsed.project,
        run=parsed.run,
        attempt=parsed.attempt,
        writer=parsed.writer,
        batch_id=parsed.batch_id,
        labels=_decode_settings(_LABELS, parsed.labels, "labels") if parsed.labels is not _NOTHING else {},
        restarts=parsed.restarts,
        config=_decode_settings(_CONFIG, parsed.config, "config") if parsed.config is not _NOTHING else {},
        settings=_decode_settings(_SETTINGS, parsed.settings, "settings")
        if parsed.settings is not _NOTHING
        else (),
        finished=parsed.finished,
    )


def _decode_settings(decoder: msgspec.msgpack.Decoder[_T], raw: msgspec.Raw, field: str) -> _T:
    check_setting_bytes(len(memoryview(raw)), field)
    return _decode(decoder, raw, (field,))


def _decode_series(
    decoder: msgspec.msgpack.Decoder[tuple[_T, ...]], raw: msgspec.Raw, field: str
) -> tuple[_T, ...]:
    if raw is _NOTHING:
        return ()
    view = memoryview(raw)
    if len(view) > MAX_SERIES:  # each takes a byte
        check_series_count(msgpack_items(view), (field,))
    return _decode(decoder, raw, (field,))


def _columns(parsed: RawBody, header: BodyHeader, rows: int, layouts: LayoutCache) -> Sequence[Column]:
    metrics = _decode_series(_METRICS, parsed.metrics, "metrics")
    columns = _decode_series(_COLUMNS, parsed.columns, "columns")
    labels = labels_of(header.labels) if header.labels else ()
    if not columns:
        return _dense_columns(parsed, metrics, labels, rows, layouts)
    if not metrics and not any(raw.labels is not _NOTHING or raw.rows is not None for raw in columns):
        names = tuple(raw.metric for raw in columns)
        values = [
            _numbers(raw.values, parsed.dtype, rows, ("columns", index, "values"))
            for index, raw in enumerate(columns)
        ]
        return DenseColumns(layouts.find(names, labels), np.concatenate(values).reshape(len(names), rows))
    single = (_raw_column(raw, parsed, header, rows, index) for index, raw in enumerate(columns))
    return (*_dense_columns(parsed, metrics, labels, rows, layouts), *single)


def _dense_columns(
    parsed: RawBody, metrics: tuple[str, ...], labels: Labels, rows: int, layouts: LayoutCache
) -> Sequence[Column]:
    """Return the columns of all metrics at all rows, transposed from row-major order."""
    values = _numbers(parsed.values, parsed.dtype, rows * len(metrics), ("values",))
    if not metrics:
        return ()
    by_row = values.reshape(rows, len(metrics))
    return DenseColumns(layouts.find(metrics, labels), np.ascontiguousarray(by_row.T))


def _raw_column(raw: RawColumn, body: RawBody, header: BodyHeader, count: int, index: int) -> Column:
    rows = None if raw.rows is None else _integers(raw.rows, ("columns", index, "rows"))
    expected = count if rows is None else len(rows)
    values = _numbers(raw.values, body.dtype, expected, ("columns", index, "values"))
    if rows is not None and len(rows) and not _ascending(rows, count):
        raise BodyError([(("columns", index, "rows"), f"expected ascending row numbers below {count}")])
    own: dict[str, LabelValue] = {}
    if raw.labels is not _NOTHING:
        check_label_count(msgpack_items(memoryview(raw.labels)), ("columns", index, "labels"))
        own = _decode(_LABELS, raw.labels, ("columns", index, "labels"))
    key = SeriesKey(raw.metric, labels_of({**header.labels, **own}))
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
