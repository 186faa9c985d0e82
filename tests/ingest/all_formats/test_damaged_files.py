"""Damage that once stopped a reader, changed what it read, or took time that grew faster than the file."""

from __future__ import annotations

import io
import sqlite3
import time
from contextlib import closing
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from holter.ingest import formats
from holter.ingest.offline.suggest_pattern import suggest_format
from holter.ingest.telemetry.metric_allowlist import build_allowlist
from holter.ingest.trackers import COLLECTIONS, find_collection
from holter.ingest.trackers.base import CollectionError
from holter.server.import_export.import_file import inspect_file
from tests.support.fuzzing.seeds import format_seeds
from tests.support.fuzzing.structures import tf_file, tf_records
from tests.support.fuzzing.targets import targets
from tests.support.machine_speed import is_within


def seconds_to_read(format_name: str, content: bytes) -> float:
    """Processor time that reading some content as a format takes."""
    began = time.thread_time()
    for _ in formats()[format_name].reader(PurePath("a"), {}).read(io.BytesIO(content)):
        pass
    return time.thread_time() - began


def read_in_all_ways(reading: Any, format_name: str, content: bytes) -> list[Any]:
    """The points read at once, byte by byte, and with a stop after each record."""
    chosen, name = formats()[format_name], "a.log"
    return [
        reading.read_complete(name, content, chosen=chosen).points,
        reading.read_growing(name, content, range(len(content) + 1), chosen=chosen).points,
        reading.read_restarted(name, content, every=1, chosen=chosen).points,
    ]


@pytest.mark.parametrize(
    ("format_name", "content"),
    [
        ("nccl-ras", b"\r#0-0 (c) CH\r6 ranks have launched up to operation 0\r"),
        ("llm.c", b"x\rs:1 trl:10.9598 lr:0.000002 norm:15.24\r}}\n"),
    ],
)
def test_carriage_returns_end_lines_wherever_a_block_begins(
    reading: Any, format_name: str, content: bytes
) -> None:
    complete, growing, stopped = read_in_all_ways(reading, format_name, content)
    assert complete == growing == stopped
    assert complete


def test_a_quote_in_one_line_of_a_table_does_not_change_how_others_are_read(reading: Any) -> None:
    content = b'step,loss\n1,2.5\n2,2.\r5\n3,"2"\n'
    chosen = formats()["csv"]
    alone = reading.read_complete("a.csv", content.partition(b"3,")[0], chosen=chosen)
    together = reading.read_complete("a.csv", content, chosen=chosen)
    assert together.unreadable == alone.unreadable
    assert together.values("loss") == [*alone.values("loss"), (3, 2.0)]


def test_a_step_beyond_the_range_is_refused_whatever_the_rows_beside_it(reading: Any) -> None:
    content = b"step,s\n9223372036854775807,1\n,2\n"
    complete, growing, stopped = read_in_all_ways(reading, "csv", content)
    assert complete == growing == stopped == {}


@pytest.mark.parametrize("line", ["_-nan It(t)1", "step 1 - 2 loss 3", "Epoch[1_:5", "_ 7STEP 1x"])
def test_a_name_of_separators_only_is_no_name(reading: Any, line: str) -> None:
    reading.read_complete("a.log", f"{line}\n".encode(), chosen=formats()["key-value"])


def test_a_nul_character_is_not_taken_for_a_number_when_a_pattern_is_suggested() -> None:
    assert suggest_format(b"2.,8\n1.,7\n2.,\x00") is None


def tensor_records() -> list[bytes]:
    """The records of a real event file with scalars as tensors."""
    seeds = format_seeds()["tensorboard"]
    sample = next(seed.content for seed in seeds if b"scalars" in seed.content)
    return tf_records(sample)


def test_a_value_of_another_plugin_does_not_remove_the_values_before_it(reading: Any) -> None:
    records = tensor_records()
    point = next(record for record in records if b"scalars" in record)
    content = tf_file([point, point.replace(b"scalars", b"strange")])
    complete, growing, stopped = read_in_all_ways(reading, "tensorboard", content)
    assert complete == growing == stopped
    assert [len(points) for points in complete.values()] == [1]


def test_an_event_file_full_of_damage_takes_time_linear_in_its_size(reading: Any) -> None:
    point = next(record for record in tensor_records() if b"scalars" in record)
    good, bad = tf_file([point]), bytearray(tf_file([point]))
    bad[20] ^= 255
    content = (good + bytes(bad) * 3) * 2500
    assert len(content) > 700_000
    assert seconds_to_read("tensorboard", content) < 5
    points = reading.read_complete("a", content[: 8 * len(good)], chosen=formats()["tensorboard"]).points
    assert [len(values) for values in points.values()] == [2]


def test_a_log_with_thousands_of_launches_takes_time_linear_in_its_size() -> None:
    line = " iteration {0}/     100 | global batch size:   512 | lm loss: 9.0E+00 |\n"
    head = "-------- arguments --------\n  hidden_size .......... {0}\n-------- end of arguments --------\n"
    few, many = (
        "".join(head.format(launch) + line.format(launch + 1) for launch in range(launches)).encode()
        for launches in (1000, 3000)
    )
    assert seconds_to_read("megatron", many) < 6 * seconds_to_read("megatron", few)


@pytest.mark.parametrize("text", ["[" * 4000, "{a: " * 4000, "&a [" * 4000, "a: 0x_\n", "? {}\n"])
def test_metadata_of_mlflow_that_is_no_mapping_makes_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.yaml").write_text(text)
    began = time.thread_time()
    assert find_collection(tmp_path) is None
    assert is_within(time.thread_time() - began, 2)


def test_a_database_whose_schema_is_no_valid_text_is_no_collection(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE runs (a)")
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = CAST(x'8862' AS TEXT)")
        database.commit()
    assert not any(collection.matches(path) for collection in COLLECTIONS)


def neptune_table() -> pa.Table:
    return parquet.read_table(io.BytesIO(targets()["tracker/neptune"].seeds[0].content))


def test_an_export_of_neptune_with_a_column_twice_is_none(tmp_path: Path) -> None:
    table = neptune_table()
    parquet.write_table(table.append_column("run_id", table.column("run_id")), tmp_path / "a.parquet")
    assert find_collection(tmp_path / "a.parquet") is None


def test_an_export_of_neptune_with_columns_of_other_types_is_refused(tmp_path: Path) -> None:
    table = neptune_table()
    index = table.column_names.index("timestamp")
    texts = pa.array(["x"] * len(table))
    parquet.write_table(table.set_column(index, "timestamp", texts), tmp_path / "a.parquet")
    collection = find_collection(tmp_path / "a.parquet")
    assert collection is not None
    (run,) = collection.runs(tmp_path / "a.parquet")
    with pytest.raises(CollectionError, match="cannot be read as Parquet"):
        run.read()


DEEP = b'{"a":' * 5000
IMPORTS = {
    "a carriage return in the header": b"\rs",
    "deeply nested": DEEP + b"1" + b"}" * 5000,
    "deeply nested head": b'{"holter_export": 1, "run": ' + DEEP + b"\n",
    "a number beyond all": b'{"holter_export": 1, "run": {"project": "p", "name": "a", "finished_at": 1%b}, '
    b'"series": []}' % (b"0" * 400),
    "a Parquet file without a footer": b"PAR1\x00\x00\x00\x00PAR1",
    "no Parquet file": b"PAR1",
    "points that are objects": b'{"holter_export": 1, "run": {}, "series": [{"metric": {}, "labels": 1}]}',
}


@pytest.mark.parametrize("content", IMPORTS.values(), ids=IMPORTS.keys())
def test_a_damaged_file_cannot_be_imported_and_says_why(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        inspect_file(path)


def test_names_are_matched_with_an_allowlist_of_many_stars_in_linear_time() -> None:
    is_allowed = build_allowlist(["*a" * 12 + "*b"])
    began = time.thread_time()
    assert not is_allowed("a" * 5000)
    assert is_within(time.thread_time() - began, 1)
