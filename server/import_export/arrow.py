"""Points as Arrow tables in long form: Parquet and Arrow files, written and read with pyarrow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from holter.server.import_export.long_table import PIECE, Piece, Rows, key_from
from holter.types import IntArray, SeriesKey

META = b"holter"
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
    head: Mapping[str, Any], portions: Iterable[list[Piece]], keys: Sequence[SeriesKey]
) -> Iterator[bytes]:
    """A Parquet file; the head stands in its schema's metadata."""
    sink = _Sink()
    schema = _schema(head)
    writer = parquet.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=["attempt", "metric", "labels"],
        column_encoding={
            "step": "DELTA_BINARY_PACKED",
            "time": "BYTE_STREAM_SPLIT",
            "value": "BYTE_STREAM_SPLIT",
        },
    )
    return _written(writer, sink, _batches(schema, portions, keys))


def arrow_bytes(
    head: Mapping[str, Any], portions: Iterable[list[Piece]], keys: Sequence[SeriesKey]
) -> Iterator[bytes]:
    """An Arrow IPC file ("Feather"); the head stands in its schema's metadata."""
    sink = _Sink()
    schema = _schema(head)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    return _written(pa.ipc.new_file(sink, schema, options=options), sink, _batches(schema, portions, keys))


def read_table(file: BinaryIO) -> tuple[dict[str, Any] | None, Iterator[Rows]]:
    """The head of a Parquet or Arrow file (None where another program wrote it), and its rows in portions.

    Raises ValueError where the file is neither, or has no such columns.
    """
    is_parquet = file.read(4) == b"PAR1"
    file.seek(0)
    try:
        if is_parquet:
            held = parquet.ParquetFile(file)
            schema = held.schema_arrow
            # group by group: as a whole it would be read ahead
            groups = range(held.num_row_groups)
            batches = (one for at in groups for one in held.iter_batches(PIECE, [at], use_threads=False))
        else:
            reader = pa.ipc.open_file(file)
            schema = reader.schema
            batches = (reader.get_batch(at) for at in range(reader.num_record_batches))
    except pa.ArrowException as error:
        raise ValueError(f"neither a Parquet nor an Arrow file: {error}") from error
    if missing := {"step", "metric", "value"} - set(schema.names):
        raise ValueError(f"no column {', '.join(sorted(missing))}; it has {', '.join(schema.names)}")
    said = (schema.metadata or {}).get(META)
    return None if said is None else json.loads(said), _rows(batches)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
    for whole in batches:
        for start in range(0, whole.num_rows, PIECE):
            try:
                yield _rows_of(whole.slice(start, PIECE))
            except pa.ArrowException as error:
                raise ValueError(f"its columns cannot be read: {error}") from error


def _rows_of(batch: pa.RecordBatch) -> Rows:
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    metric, metrics = _codes("metric", given)
    label, labels = _codes("labels", given)
    pairs, which = np.unique(metric * len(labels) + label, return_inverse=True)
    keys = [key_from(metrics[pair // len(labels)], labels[pair % len(labels)]) for pair in pairs.tolist()]
    return Rows(
        keys=keys,
        which=which,
        attempt=_numbers("attempt", given, pa.int64(), 0),
        step=_numbers("step", given, pa.int64(), 0),
        time=_numbers("time", given, pa.float64(), math.nan),
        value=_numbers("value", given, pa.float64(), math.nan),
    )


class _Sink:
    """A file that keeps what is written only until it is taken."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._at = 0
        self.closed = False

    def write(self, data: Any) -> int:
        self._held.append(bytes(data))
        self._at += len(self._held[-1])
        return len(self._held[-1])

    def take(self) -> bytes:
        held, self._held = b"".join(self._held), []
        return held

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _written(
    writer: AbstractContextManager[Any], sink: _Sink, batches: Iterable[pa.RecordBatch]
) -> Iterator[bytes]:
    with writer as opened:
        for batch in batches:
            opened.write_batch(batch)
            yield sink.take()
    yield sink.take()


def _schema(head: Mapping[str, Any]) -> pa.Schema:
    return pa.schema(_FIELDS, metadata={META: json.dumps(head, ensure_ascii=False).encode()})


def _batches(
    schema: pa.Schema, portions: Iterable[list[Piece]], keys: Sequence[SeriesKey]
) -> Iterator[pa.RecordBatch]:
    # an Arrow file has one dictionary a column, and it comes first
    metrics = {metric: at for at, metric in enumerate(sorted({key.metric for key in keys}))}
    labels = {text: at for at, text in enumerate(sorted({_labels(key) for key in keys}))}
    places = {key: (metrics[key.metric], labels[_labels(key)]) for key in keys}
    names = (pa.array(list(metrics), pa.string()), pa.array(list(labels), pa.string()))
    for portion in portions:
        held = [piece.series for piece in portion]
        lengths = [len(series) for series in held]
        codes = np.repeat(np.array([places[series.key] for series in held], dtype=np.int32), lengths, axis=0)
        time = np.concatenate([series.time for series in held])
        columns = (
            pa.array(np.concatenate([series.attempt for series in held]).astype(np.int32)),
            pa.array(np.concatenate([series.step for series in held])),
            pa.array(time, mask=np.isnan(time)),
            *(
                pa.DictionaryArray.from_arrays(pa.array(np.ascontiguousarray(codes[:, at])), names[at])
                for at in range(2)
            ),
            pa.array(np.concatenate([series.value for series in held]), from_pandas=False),
            pa.array(np.concatenate([piece.superseded for piece in portion])),
        )
        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _labels(key: SeriesKey) -> str:
    return json.dumps(dict(key.labels), ensure_ascii=False)


def _numbers(name: str, given: Mapping[str, Any], kind: Any, absent: float) -> NDArray[Any]:
    """A column as numpy has it, `absent` throughout where there is none; a null float is NaN.

    Raises ValueError where it has no such numbers.
    """
    if name not in given:
        return np.full(len(given["step"]), absent, dtype=kind.to_pandas_dtype())
    column = given[name]
    try:
        if pa.types.is_floating(kind):
            column = column.cast(kind).fill_null(math.nan)
        elif column.null_count:
            raise ValueError(f"column {name}: {column.null_count} values are missing")
        held: NDArray[Any] = column.cast(kind).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        expected = "numbers" if pa.types.is_floating(kind) else "whole numbers"
        expected += " (Unix seconds)" if name == "time" else ""
        raise ValueError(f"column {name}: expected {expected}, found {column.type} ({error})") from error
    return held


def _codes(name: str, given: Mapping[str, Any]) -> tuple[IntArray, list[str]]:
    """A column of text as numbers, and the texts that they stand for; empty ones where there is none."""
    if name not in given:
        return np.zeros(len(given["step"]), dtype=np.int64), [""]
    column = given[name]
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    if not (pa.types.is_string(encoded.type.value_type) or pa.types.is_large_string(encoded.type.value_type)):
        raise ValueError(f"column {name}: expected text, found {column.type}")
    if encoded.null_count:
        raise ValueError(f"column {name}: {encoded.null_count} values are missing")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()
