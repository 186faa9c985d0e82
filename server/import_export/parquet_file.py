"""Points as Parquet files in long form, written and read with pyarrow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from holter.server.import_export.point_rows import PIECE_POINTS, PointRows, SeriesPiece, parse_key
from holter.types import IntArray, SeriesKey

METADATA_KEY = b"holter"
MAX_POINTS = 5_000_000
MAX_POINTS_PER_BYTE = 50
"""Points that a file of a certain size may have besides MAX_POINTS; a tenth of a point per byte is usual."""
MAX_COLUMN_BYTES = 512 * 2**20
"""Decompressed bytes of a column in a row group."""
_COLUMNS = ["attempt", "step", "time", "metric", "labels", "value"]
_TEXT = pa.dictionary(pa.int32(), pa.string())
_FIELDS = (
    pa.field("attempt", pa.int32(), nullable=False),
    pa.field("step", pa.int64(), nullable=False),
    pa.field("time", pa.float64()),  # Unix seconds, null where the log has no clock
    pa.field("metric", _TEXT, nullable=False),
    pa.field("labels", _TEXT, nullable=False),  # a JSON object
    pa.field("value", pa.float64(), nullable=False),
    pa.field("superseded", pa.bool_(), nullable=False),
)


def parquet_bytes(
    head: Mapping[str, Any], portions: Iterable[list[SeriesPiece]], keys: Sequence[SeriesKey]
) -> Iterator[bytes]:
    """Yield a Parquet file in parts; the head is in its schema's metadata."""
    schema = pa.schema(_FIELDS, metadata={METADATA_KEY: json.dumps(head, ensure_ascii=False).encode()})
    buffer = _WriteBuffer()
    with parquet.ParquetWriter(
        buffer,
        schema,
        compression="zstd",
        use_dictionary=["attempt", "metric", "labels"],
        column_encoding={
            "step": "DELTA_BINARY_PACKED",
            "time": "BYTE_STREAM_SPLIT",
            "value": "BYTE_STREAM_SPLIT",
        },
    ) as writer:
        for batch in _record_batches(schema, portions, keys):
            writer.write_batch(batch)
            yield buffer.take()
    yield buffer.take()


def read_parquet(file: BinaryIO) -> tuple[dict[str, Any] | None, Iterator[PointRows]]:
    """Return the head of a Parquet file (None if another program wrote it), and its points in portions.

    Raises ValueError where it is no Parquet file, or lacks a column.
    """
    with _damage_as_value_error("not a readable Parquet file"):
        table = _open(file)
        schema = table.schema_arrow
    if missing := {"step", "metric", "value"} - set(schema.names):
        raise ValueError(f"no column {', '.join(sorted(missing))}; it has {', '.join(schema.names)}")
    _check_size(table.metadata, file)
    # one row group at a time: otherwise pyarrow reads ahead
    batches = (
        batch
        for group in range(table.num_row_groups)
        for batch in table.iter_batches(PIECE_POINTS, [group], _COLUMNS, use_threads=False)
    )
    head = (schema.metadata or {}).get(METADATA_KEY)
    return None if head is None else json.loads(head), _read_rows(batches)


def _open(file: BinaryIO) -> parquet.ParquetFile:
    """Open a file so that a text that many rows share is in memory once."""
    metadata = parquet.ParquetFile(file).metadata
    columns = {metadata.schema.column(index).path for index in range(metadata.num_columns)}
    return parquet.ParquetFile(
        file, metadata=metadata, read_dictionary=sorted(columns & {"metric", "labels"})
    )


def _check_size(metadata: parquet.FileMetaData, file: BinaryIO) -> None:
    """Raise ValueError where a small file states more points, or a row group more bytes, than any run has.

    Equal values take next to no space in Parquet: kilobytes can stand for any number of points.
    """
    size = file.seek(0, 2)
    if metadata.num_rows > MAX_POINTS + MAX_POINTS_PER_BYTE * size:
        raise ValueError(
            f"{metadata.num_rows:,} points in {size:,} bytes, expected at most {MAX_POINTS:,} and "
            f"{MAX_POINTS_PER_BYTE} for each byte: if this is a run, import it as CSV"
        )
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        columns = (group.column(number) for number in range(group.num_columns))
        for column in columns:
            if column.path_in_schema in _COLUMNS and column.total_uncompressed_size > MAX_COLUMN_BYTES:
                raise ValueError(
                    f"row group {index}, column {column.path_in_schema}: {column.total_uncompressed_size:,} "
                    f"bytes, expected at most {MAX_COLUMN_BYTES:,}: write smaller row groups"
                )


@contextmanager
def _damage_as_value_error(what: str) -> Iterator[None]:
    """Raise what pyarrow raises for damaged content as ValueError; its OSErrors for it have no number."""
    try:
        yield
    except pa.ArrowException as error:
        raise ValueError(f"{what}: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{what}: {error}") from error


def _read_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[PointRows]:
    while True:
        with _damage_as_value_error("unreadable columns"):
            batch = next(batches, None)
            rows = None if batch is None else _rows_of_batch(batch)
        if rows is None:
            return
        yield rows


def _rows_of_batch(batch: pa.RecordBatch) -> PointRows:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    metric_index, metrics = _text_column("metric", columns)
    labels_index, labels = _text_column("labels", columns)
    pairs, key_index = np.unique(metric_index * len(labels) + labels_index, return_inverse=True)
    keys = [parse_key(metrics[pair // len(labels)], labels[pair % len(labels)]) for pair in pairs.tolist()]
    return PointRows(
        keys=keys,
        key_index=key_index,
        attempt=_number_column("attempt", columns, pa.int64(), 0),
        step=_number_column("step", columns, pa.int64(), 0),
        time=_number_column("time", columns, pa.float64(), math.nan),
        value=_number_column("value", columns, pa.float64(), math.nan),
    )


class _WriteBuffer:
    """A write-only file that holds what was written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._position += len(self._parts[-1])
        return len(self._parts[-1])

    def take(self) -> bytes:
        content, self._parts = b"".join(self._parts), []
        return content

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """No-op: nothing is buffered elsewhere."""

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _record_batches(
    schema: pa.Schema, portions: Iterable[list[SeriesPiece]], keys: Sequence[SeriesKey]
) -> Iterator[pa.RecordBatch]:
    metric_codes = {metric: code for code, metric in enumerate(sorted({key.metric for key in keys}))}
    label_codes = {text: code for code, text in enumerate(sorted({_labels_json(key) for key in keys}))}
    key_codes = {key: (metric_codes[key.metric], label_codes[_labels_json(key)]) for key in keys}
    dictionaries = (pa.array(list(metric_codes), pa.string()), pa.array(list(label_codes), pa.string()))
    for portion in portions:
        series = [piece.series for piece in portion]
        lengths = [len(single) for single in series]
        codes = np.array([key_codes[single.key] for single in series], dtype=np.int32)
        codes = np.repeat(codes, lengths, axis=0)
        time = np.concatenate([single.time for single in series])
        columns = (
            pa.array(np.concatenate([single.attempt for single in series]).astype(np.int32)),
            pa.array(np.concatenate([single.step for single in series])),
            pa.array(time, mask=np.isnan(time)),
            *(
                pa.DictionaryArray.from_arrays(pa.array(np.ascontiguousarray(column)), dictionary)
                for column, dictionary in zip(codes.T, dictionaries, strict=True)
            ),
            pa.array(np.concatenate([single.value for single in series]), from_pandas=False),
            pa.array(np.concatenate([piece.superseded for piece in portion])),
        )
        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _labels_json(key: SeriesKey) -> str:
    return json.dumps(dict(key.labels), ensure_ascii=False)


def _number_column(name: str, columns: Mapping[str, Any], dtype: Any, default: float) -> NDArray[Any]:
    """Return a column as numpy array, filled with `default` if it is missing; null floats are NaN.

    Raises ValueError where it does not contain such numbers.
    """
    if name not in columns:
        return np.full(len(columns["step"]), default, dtype=dtype.to_pandas_dtype())
    column = columns[name]
    try:
        if pa.types.is_floating(dtype):
            column = column.cast(dtype).fill_null(math.nan)
        elif column.null_count:
            raise ValueError(f"column {name}: {column.null_count} values are missing")
        numbers: NDArray[Any] = column.cast(dtype).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        expected = "numbers" if pa.types.is_floating(dtype) else "whole numbers"
        expected += " (Unix seconds)" if name == "time" else ""
        raise ValueError(f"column {name}: expected {expected}, found {column.type} ({error})") from error
    return numbers


def _text_column(name: str, columns: Mapping[str, Any]) -> tuple[IntArray, list[str]]:
    """Return a text column dictionary-encoded: codes [n] and texts; empty texts if it is missing."""
    if name not in columns:
        return np.zeros(len(columns["step"]), dtype=np.int64), [""]
    column = columns[name]
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if not (pa.types.is_string(encoded.type.value_type) or pa.types.is_large_string(encoded.type.value_type)):
        raise ValueError(f"column {name}: expected text, found {column.type}")
    if encoded.null_count:
        raise ValueError(f"column {name}: {encoded.null_count} values are missing")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()
