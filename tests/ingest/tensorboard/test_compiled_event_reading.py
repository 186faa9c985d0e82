"""Compiled reading of event files gives the same as reading in numpy, whatever the content."""

from __future__ import annotations

import io
import random
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from holter.ingest.tensorboard import numba_kernels
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import BackgroundCompiler, Kernels, no_kernels
from holter.ingest.tensorboard.records import RecordWalker, masked_crc, masked_crcs

pytestmark = pytest.mark.slow

NAME = "events.out.tfevents.1700000000.node7.4711.0"
DATA = Path(__file__).parents[2] / "data" / "tensorboard"
FILES = sorted(DATA.rglob("events*"))
SMALL = [path for path in FILES if path.stat().st_size < 5000]

IN_NUMPY, IN_COMPILED = EventFile(no_kernels), EventFile(lambda size: numba_kernels)


def framed(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", masked_crc(header)) + data + struct.pack("<I", masked_crc(data))


def record(event: Event) -> bytes:
    return framed(event.SerializeToString())


def read_both_ways(content: bytes, reading: Any) -> Any:
    """The content of a file, after a check that both ways of reading give the same."""
    in_numpy = reading.read_complete(NAME, content, chosen=IN_NUMPY)
    assert reading.read_complete(NAME, content, chosen=IN_COMPILED) == in_numpy
    return in_numpy


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_are_read_alike(path: Path, reading: Any) -> None:
    content = path.read_bytes()
    complete = read_both_ways(content, reading)
    assert reading.read_restarted(NAME, content, every=1, chosen=IN_COMPILED) == complete
    chance = random.Random(1)
    sizes = sorted(chance.randrange(len(content)) for _ in range(40))
    assert reading.read_growing(NAME, content, [*sizes, len(content)], chosen=IN_COMPILED) == complete


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_small_files_are_read_alike_byte_by_byte_and_cut_off_anywhere(path: Path, reading: Any) -> None:
    content = path.read_bytes()
    assert reading.read_growing(NAME, content, range(len(content) + 1), chosen=IN_COMPILED) == read_both_ways(
        content, reading
    )
    for size in range(len(content)):
        read_both_ways(content[:size], reading)


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_a_flipped_bit_anywhere_is_reported_alike(path: Path, reading: Any) -> None:
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        read_both_ways(bytes(damaged), reading)


shapes = st.sampled_from(
    [
        None,
        TensorShapeProto(),
        TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        TensorShapeProto(dim=[TensorShapeProto.Dim(size=2)]),
    ]
)
tensors = st.builds(
    lambda dtype, content, floats, doubles, shape: TensorProto(
        dtype=dtype, tensor_content=content, float_val=floats, double_val=doubles, tensor_shape=shape
    ),
    dtype=st.sampled_from([1, 2, 3, 7, 14]),
    content=st.sampled_from([b"", struct.pack("<f", 1.25), struct.pack("<d", 0.1), b"123"]),
    floats=st.lists(st.floats(width=32), max_size=2),
    doubles=st.lists(st.floats(), max_size=1),
    shape=shapes,
)


@st.composite
def values(draw: st.DrawFn) -> Summary.Value:
    """A value as a writer may write it, or may not."""
    value = Summary.Value(tag=draw(st.sampled_from(["", "loss", "a/quite/long/tag/of/a/metric", "é\0"])))
    if draw(st.booleans()):
        value.simple_value = draw(st.floats(width=32))
    else:
        value.tensor.CopyFrom(draw(tensors))
    plugin = draw(st.sampled_from([None, None, "scalars", "text", ""]))
    if plugin is not None:
        value.metadata.plugin_data.plugin_name = plugin
        value.metadata.data_class = draw(st.integers(0, 1))
    return value


events = st.one_of(
    st.builds(
        lambda step, time, scalars: Event(wall_time=time, step=step, summary=Summary(value=scalars)),
        step=st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300),
        time=st.floats(),
        scalars=st.lists(values(), max_size=4),
    ),
    st.builds(lambda step: Event(step=step, file_version="brain.Event:2"), step=st.integers(0, 9)),
    st.just(Event(wall_time=1.5, session_log=SessionLog(status=SessionLog.START))),
)


@settings(max_examples=200, deadline=None)
@given(written=st.lists(events, max_size=30))
def test_any_events_are_read_alike(written: list[Event], reading: Any) -> None:
    read_both_ways(b"".join(record(event) for event in written), reading)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), written=st.lists(events, min_size=1, max_size=20))
def test_damaged_messages_in_good_records_are_read_alike(
    data: st.DataObject, written: list[Event], reading: Any
) -> None:
    payloads = [event.SerializeToString() for event in written]
    chosen = data.draw(st.integers(0, len(payloads) - 1))
    place = data.draw(st.integers(0, len(payloads[chosen])))
    length = data.draw(st.integers(0, 12))
    noise = data.draw(st.binary(max_size=12))
    payloads[chosen] = payloads[chosen][:place] + noise + payloads[chosen][place + length :]
    read_both_ways(b"".join(framed(payload) for payload in payloads), reading)


@settings(max_examples=200, deadline=None)
@given(payloads=st.lists(st.binary(max_size=60), max_size=30), copies=st.sampled_from([1, 20]))
def test_any_bytes_in_good_records_are_read_alike(payloads: list[bytes], copies: int, reading: Any) -> None:
    read_both_ways(b"".join(framed(payload) for payload in payloads) * copies, reading)


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(max_size=300))
def test_noise_is_read_alike(noise: bytes, reading: Any) -> None:
    read_both_ways(noise, reading)


def test_checksums_of_many_records_at_once_are_those_of_each() -> None:
    chance = np.random.default_rng(1)
    payloads = [chance.bytes(int(size)) for size in (*range(70), *range(500, 530), 511, 512, 513, 5000)]
    chance.shuffle(payloads)
    block = b"".join(framed(payload) for payload in payloads)
    records = RecordWalker().walk(block)
    assert (records.end - records.start).tolist() == [len(payload) for payload in payloads]
    assert masked_crcs(block, records.start, records.end).tolist() == [
        masked_crc(payload) for payload in payloads
    ]


def test_a_record_within_a_record_is_none_of_the_files_own(reading: Any) -> None:
    inner = record(
        Event(wall_time=1.5, step=9, summary=Summary(value=[Summary.Value(tag="x", simple_value=1)]))
    )
    outer = [record(Event(wall_time=1.5, step=step, file_version="x" + inner.hex())) for step in range(3)]
    hidden = [framed(b"\x52" + bytes((len(inner),)) + inner) for _ in range(3)]  # field 10: not known
    plain = record(
        Event(wall_time=1.5, step=4, summary=Summary(value=[Summary.Value(tag="y", simple_value=2)]))
    )
    result = read_both_ways(b"".join([*outer, *hidden, plain, *hidden]), reading)
    assert (result.count, result.unreadable) == (1, [])


def test_what_writers_usually_write_is_plain() -> None:
    scalars = [
        Summary.Value(tag="loss", simple_value=0.5),
        Summary.Value(tag="loss/new", tensor=TensorProto(dtype=1, float_val=[0.5])),
        Summary.Value(tag="loss/tf", tensor=TensorProto(dtype=1, tensor_content=struct.pack("<f", 0.5))),
        Summary.Value(tag="loss/64", tensor=TensorProto(dtype=2, double_val=[0.5])),
    ]
    for value in scalars[1:]:
        value.metadata.plugin_data.plugin_name = "scalars"
        value.tensor.tensor_shape.SetInParent()
    content = b"".join(
        record(Event(wall_time=1.5, step=9, summary=Summary(value=[value]))) for value in scalars
    )
    records = numba_kernels.walk(content)
    plain = numba_kernels.scan(content, records.start, records.end)
    assert plain.odd.tolist() == [0, 0, 0, 0]
    assert plain.values.tolist() == [0.5] * 4
    assert plain.tags == [value.tag.encode() for value in scalars]


def test_a_length_that_reaches_beyond_its_message_or_the_block_is_no_reason_to_read_on(reading: Any) -> None:
    for length in (1, 50, 127, 128, 2**28, 2**48):
        varint = bytearray()
        while length >= 128:
            varint.append(length & 127 | 128)
            length >>= 7
        varint.append(length)
        for head in (b"\x2a", b"\x2a\x04\x0a", b"\x2a\x06\x0a\x04\x0a", b"\x2a\x06\x0a\x04\x42"):
            read_both_ways(framed(head + bytes(varint)), reading)


def test_more_tags_than_a_block_has_room_for_are_read_alike(reading: Any) -> None:
    scalars = [Summary.Value(tag=f"{number:x}", simple_value=number) for number in range(40_000)]
    result = read_both_ways(record(Event(wall_time=1.5, step=3, summary=Summary(value=scalars))), reading)
    assert result.count == 40_000
    few = [
        record(Event(wall_time=1.5, step=3, summary=Summary(value=scalars[at : at + 10])))
        for at in range(0, len(scalars), 10)
    ]
    assert read_both_ways(b"".join(few), reading).count == 40_000


def test_a_tag_that_comes_twice_in_an_event_is_two_points_of_its_series(reading: Any) -> None:
    twice = Summary(value=[Summary.Value(tag=tag, simple_value=at) for at, tag in enumerate("aba")])
    result = read_both_ways(record(Event(wall_time=1.5, step=7, summary=twice)), reading)
    assert (result.values("a"), result.values("b")) == ([(7, 0.0), (7, 2.0)], [(7, 1.0)])


def test_the_rows_of_every_series_ascend_even_where_a_tag_comes_twice() -> None:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=1) for tag in "abaab"])
    content = b"".join(record(Event(step=step, summary=summary)) for step in range(3))
    (batch,) = IN_COMPILED.reader(Path(NAME), {}).read(io.BytesIO(content))
    for column in batch.columns:
        rows = np.arange(len(batch.steps)) if column.rows is None else column.rows
        assert np.all(np.diff(rows) > 0)
    assert batch.steps.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_reading_may_go_over_to_compiled_code_between_any_two_blocks(reading: Any) -> None:
    summary = Summary(value=[Summary.Value(tag="loss", simple_value=1.5)])
    content = b"".join(record(Event(wall_time=1.5, step=step, summary=summary)) for step in range(60_000))
    chance = random.Random(1)
    complete = read_both_ways(content, reading)
    assert len(complete.values("loss")) == 60_000
    by_chance = EventFile(lambda size: chance.choice([numba_kernels, None]))
    assert reading.read_complete(NAME, content, chosen=by_chance) == complete


def test_compiled_code_is_made_ready_while_reading_continues() -> None:
    ready = BackgroundCompiler(min_bytes=1000)
    assert ready(500) is None
    assert not ready.has_begun
    began = time.monotonic()
    assert ready(600) is None
    found: Kernels | None = None
    while found is None and time.monotonic() - began < 120:
        time.sleep(0.05)
        found = ready(1)
    assert found is numba_kernels


def test_without_a_compiler_reading_stays_with_numpy() -> None:
    preparation = BackgroundCompiler(min_bytes=1, compiled="holter.ingest.not_there")
    preparation(10)
    preparation.wait(60)
    assert preparation(10) is None
