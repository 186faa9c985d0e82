"""Small files that would expand to more than memory or disk can take are refused before they do."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from holter.server.import_export import json_reader, parquet_file
from holter.server.import_export.read_file import read_file

MIB = 2**20
HEAD = b'{"holter_export": 1, "run": {}, "series": [\n'


def table(rows: int, **more: pa.Array) -> bytes:
    """A Parquet file whose rows all have the same values."""
    zeros = pa.array(np.zeros(rows, dtype=np.int64))
    names = pa.DictionaryArray.from_arrays(zeros.cast(pa.int32()), ["loss"])
    columns = {"step": zeros, "metric": names, "value": zeros.cast(pa.float64())} | more
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content, compression="zstd", store_schema=False)
    return content.getvalue()


def read(content: bytes) -> int:
    """The number of points in a file."""
    return sum(len(rows.step) for rows in read_file(io.BytesIO(content)).rows)


def peak_memory(work: Callable[[], object]) -> int:
    """The most bytes that Python, numpy and pyarrow have allocated at once during `work`."""
    pool = pa.system_memory_pool()
    earlier = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(earlier)


def test_a_parquet_file_with_too_many_points_for_its_size_is_refused_by_its_metadata(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_file, "MAX_POINTS", 10_000)
    content = table(400_000)
    assert len(content) < 7000
    with pytest.raises(ValueError, match=r"400,000 points in .* import it as CSV"):
        read_file(io.BytesIO(content))
    assert read(table(10_000)) == 10_000


def test_a_column_that_expands_too_much_is_refused_by_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "MAX_COLUMN_BYTES", 10_000)
    texts = pa.array([f"{number}{'a' * 100}" for number in range(1000)])
    with pytest.raises(ValueError, match=r"row group 0, column metric: .* write smaller row groups"):
        read_file(io.BytesIO(table(1000, metric=texts)))


@pytest.mark.parametrize("column", ["metric", "labels", "another"])
def test_a_long_text_that_rows_share_is_in_memory_once(column: str) -> None:
    text = '{"a": "' + "x" * 10_000 + '"}'
    shared = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50_000, dtype=np.int32)), [text])
    content = table(50_000, **{column: shared})
    assert peak_memory(lambda: read(content)) < 100 * MIB  # 500 MB with a copy for each row


def test_lines_of_too_many_values_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_reader, "MAX_ITEMS", 100_000)
    content = HEAD + b'{"value": [' + b"0," * 200_000 + b"0]}\n]}\n"
    for reason, broken in (("line 2", content), ("a reformatted document", b"{\n" + content[1:])):
        with pytest.raises(ValueError, match=f"{reason}: expected at most 100,000 values"):
            read(broken)


def test_a_csv_line_of_a_million_cells_is_refused() -> None:
    with pytest.raises(ValueError, match="line 2 has more than 1 MiB"):
        read(b"metric,step,value\n" + b"," * 2 * MIB + b"\n")


def test_nested_columns_are_refused() -> None:
    fields = b'{"metric": "a", "labels": {}, "attempt": [0], "step": [0], "time": [[1]], "value": [1]}'
    with pytest.raises(ValueError, match="line 2: time: expected numbers"):
        read(HEAD + fields + b"\n]}\n")
