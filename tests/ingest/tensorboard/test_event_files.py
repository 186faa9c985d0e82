"""TensorBoard event files: of real writers, compared with TensorBoard's own reader, and damaged ones."""

from __future__ import annotations

import io
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto import types_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
from tensorboardX import SummaryWriter

from holter.ingest.tensorboard.event_file import MAX_BATCH_POINTS, EventFile
from holter.ingest.tensorboard.records import masked_crc
from holter.types import SeriesKey

NAME = "events.out.tfevents.1700000000.node7.4711.0"
DATA = Path(__file__).parents[2] / "data" / "tensorboard"


def framed(data: bytes) -> bytes:
    header = struct.pack("<Q", len(data))
    return header + struct.pack("<I", masked_crc(header)) + data + struct.pack("<I", masked_crc(data))


def record(event: Event) -> bytes:
    return framed(event.SerializeToString())


def scalar(step: int, value: float, tag: str = "loss") -> bytes:
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
    return record(Event(wall_time=1.7e9 + step, step=step, summary=summary))


def tensor_event(tensor: TensorProto, *, plugin: str = "", tag: str = "loss", step: int = 1) -> bytes:
    value = Summary.Value(tag=tag, tensor=tensor)
    if plugin:
        value.metadata.plugin_data.plugin_name = plugin
    return record(Event(wall_time=1.7e9, step=step, summary=Summary(value=[value])))


def start(step: int) -> bytes:
    return record(Event(wall_time=1.7e9, step=step, session_log=SessionLog(status=SessionLog.START)))


FIRST = record(Event(wall_time=1.7e9, file_version="brain.Event:2"))


def tensorboards(path: Path) -> dict[str, list[tuple[int, float, float]]]:
    """What TensorBoard's own reader finds in a file: it makes tensors of all scalars."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    plugins: dict[str, str] = {}
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            plugin = plugins.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            if plugin == "scalars":
                number = float(tensor_util.make_ndarray(value.tensor).item())
                found.setdefault(value.tag, []).append((event.step, event.wall_time, number))
    return found


def ours(reading: Any, path: Path) -> dict[str, list[tuple[int, float, float]]]:
    result = reading.read_complete(path.name, path.read_bytes())
    return {
        key.metric: [(step, float(time), float(value)) for _, step, time, value in points]
        for key, points in result.points.items()
    }


@pytest.mark.parametrize("path", sorted(DATA.rglob("events*")), ids=lambda path: path.name)
def test_a_file_holds_what_tensorboards_own_reader_finds_there(path: Path, reading: Any) -> None:
    assert ours(reading, path) == tensorboards(path)


@pytest.mark.parametrize(
    ("name", "points", "series"),
    [
        ("public/events.out.tfevents.1621803136.korbinian.88058.13.v2", 15, 3),
        ("public/events.out.tfevents.1628105738.Turing.35797.13.v2", 258, 3),
        ("public/events.out.tfevents.1714469542.a49a0ef560bb.2137.0", 2080, 26),
        ("torch/events.out.tfevents.1795194281.vm.2660.0", 20, 2),
        ("torch/events.out.tfevents.1795194282.vm.2660.4", 7, 1),
    ],
)
def test_real_files_hold_so_many_points(name: str, points: int, series: int, reading: Any) -> None:
    result = reading.read_complete(Path(name).name, (DATA / name).read_bytes())
    assert (result.count, len(result.points), result.unreadable) == (points, series, [])


def test_what_tensorboardx_writes_is_read(tmp_path: Path, reading: Any) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(200):
            writer.add_scalar("train/loss", 1 / (step + 1), step)
            writer.add_scalar("train/learning_rate", 3e-4, step)
            writer.add_text("note", "nothing to plot", step)
        writer.add_histogram("weights", np.arange(100.0), 199)
    (path,) = tmp_path.glob("events*")
    assert ours(reading, path) == tensorboards(path)
    assert reading.read_complete(path.name, path.read_bytes()).count == 400


def test_a_growing_file_of_the_real_writer_is_read_as_it_grows(tmp_path: Path, reading: Any) -> None:
    writer = EventFileWriter(str(tmp_path), flush_secs=3600)
    found: list[int] = []
    state, position = {}, 0
    for step in range(30):
        writer.add_event(
            Event(
                wall_time=time.time(),
                step=step,
                summary=Summary(value=[Summary.Value(tag="loss", simple_value=1.5)]),
            )
        )
        writer.flush()
        (path,) = tmp_path.glob("events*")
        with path.open("rb") as stream:
            stream.seek(position)
            reader = EventFile().reader(path, state)
            found += [int(batch.steps[0]) for batch in reader.read(stream)]
            state, position = dict(reader.state()), stream.tell()
    writer.close()
    assert found == list(range(30))


def half(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


TENSORS: list[tuple[str, TensorProto, float]] = [
    ("float", TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[0.5]), 0.5),
    ("float as bytes", TensorProto(dtype=types_pb2.DT_FLOAT, tensor_content=struct.pack("<f", -0.5)), -0.5),
    ("double", TensorProto(dtype=types_pb2.DT_DOUBLE, double_val=[0.1]), 0.1),
    ("double as bytes", TensorProto(dtype=types_pb2.DT_DOUBLE, tensor_content=struct.pack("<d", 0.1)), 0.1),
    ("half", TensorProto(dtype=types_pb2.DT_HALF, half_val=[half(1.5)]), 1.5),
    ("half as bytes", TensorProto(dtype=types_pb2.DT_HALF, tensor_content=struct.pack("<e", 1.5)), 1.5),
    ("bfloat16", TensorProto(dtype=types_pb2.DT_BFLOAT16, half_val=[0x3FC0]), 1.5),
    ("bfloat16 as bytes", TensorProto(dtype=types_pb2.DT_BFLOAT16, tensor_content=b"\xc0\x3f"), 1.5),
    ("int32", TensorProto(dtype=types_pb2.DT_INT32, int_val=[-7]), -7),
    ("int8", TensorProto(dtype=types_pb2.DT_INT8, int_val=[-7]), -7),
    ("int8 as bytes", TensorProto(dtype=types_pb2.DT_INT8, tensor_content=b"\xf9"), -7),
    ("uint8", TensorProto(dtype=types_pb2.DT_UINT8, int_val=[200]), 200),
    ("int64", TensorProto(dtype=types_pb2.DT_INT64, int64_val=[-(2**40)]), -(2.0**40)),
    ("int64 as bytes", TensorProto(dtype=types_pb2.DT_INT64, tensor_content=struct.pack("<q", 3)), 3),
    ("uint64", TensorProto(dtype=types_pb2.DT_UINT64, uint64_val=[2**63]), 2.0**63),
    ("uint32", TensorProto(dtype=types_pb2.DT_UINT32, uint32_val=[2**31]), 2.0**31),
    ("bool", TensorProto(dtype=types_pb2.DT_BOOL, bool_val=[True]), 1),
    ("a zero left out", TensorProto(dtype=types_pb2.DT_FLOAT), 0),
    (
        "one element in two dimensions",
        TensorProto(
            dtype=types_pb2.DT_FLOAT,
            float_val=[2.5],
            tensor_shape=TensorShapeProto(dim=[{"size": 1}, {"size": 1}]),  # type: ignore[list-item]
        ),
        2.5,
    ),
]


@pytest.mark.parametrize("copies", [1, 40], ids=["few", "many"])
@pytest.mark.parametrize(
    ("tensor", "value"), [case[1:] for case in TENSORS], ids=[case[0] for case in TENSORS]
)
def test_a_scalar_in_a_tensor_of_any_type_is_read(
    tensor: TensorProto, value: float, copies: int, reading: Any
) -> None:
    content = b"".join(tensor_event(tensor, plugin="scalars", step=step) for step in range(copies))
    assert reading.read_complete(NAME, FIRST + content).values("loss") == [
        (step, value) for step in range(copies)
    ]


def test_nan_and_infinities_are_data(reading: Any) -> None:
    content = FIRST + scalar(1, float("nan")) + scalar(2, float("inf")) + scalar(3, float("-inf"))
    values = [value for _, value in reading.read_complete(NAME, content).values("loss")]
    assert np.isnan(values[0])
    assert values[1:] == [np.inf, -np.inf]


def test_what_other_plugins_write_is_not_taken_for_a_scalar(reading: Any) -> None:
    vector = TensorProto(
        dtype=types_pb2.DT_FLOAT,
        float_val=[1, 2],
        tensor_shape=TensorShapeProto(dim=[{"size": 2}]),  # type: ignore[list-item]
    )
    text = TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"hello"])
    tensor = TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[1.0])
    content = (
        FIRST
        + tensor_event(vector, plugin="histograms", tag="weights")
        + tensor_event(text, plugin="text", tag="note")
        + tensor_event(tensor, plugin="hparams", tag="session")
        + scalar(1, 2.5)
    )
    result = reading.read_complete(NAME, content)
    assert list(result.points) == [SeriesKey("loss")]
    assert not result.unreadable


def test_metadata_on_a_tags_first_value_counts_for_the_later_ones_too(reading: Any) -> None:
    tensor = TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[1.0])
    content = FIRST + tensor_event(tensor, plugin="mesh", tag="session") + scalar(0, 1.0)
    cut = len(content)
    content += tensor_event(tensor, tag="session") + scalar(1, 2.0)
    assert list(reading.read_complete(NAME, content).points) == [SeriesKey("loss")]
    assert list(reading.read_growing(NAME, content, [cut, len(content)]).points) == [SeriesKey("loss")]


def test_a_session_start_marks_the_next_batch_as_a_new_launch(reading: Any) -> None:
    content = FIRST + scalar(1, 3.0) + scalar(2, 2.0) + start(2) + scalar(2, 2.5) + scalar(3, 2.0)
    result = reading.read_complete(NAME, content)
    assert result.restarts == [2]
    assert result.values("loss") == [(1, 3.0), (2, 2.0), (2, 2.5), (3, 2.0)]


def test_a_session_start_is_remembered_until_the_first_point_after_it(reading: Any) -> None:
    content = FIRST + scalar(1, 3.0) + start(2)
    result = reading.read_growing(NAME, content + scalar(2, 2.5), [len(content), len(content) + 500])
    assert result.restarts == [2]


def test_curves_over_samples_stay_their_own_metric(reading: Any) -> None:
    path = DATA / "torch" / "events.out.tfevents.1795194281.vm.2660.0"
    result = reading.read_complete(path.name, path.read_bytes())
    assert [step for step, _ in result.values("lm-loss-training/lm loss vs samples")] == list(
        range(0, 160, 16)
    )
    assert [step for step, _ in result.values("lm-loss-training/lm loss")] == list(range(10))


def test_many_values_in_one_event_share_its_row() -> None:
    values = [Summary.Value(tag=f"metric/{number}", simple_value=number) for number in range(500)]
    content = FIRST + record(Event(wall_time=1.7e9, step=9, summary=Summary(value=values)))
    (batch,) = EventFile().reader(Path(NAME), {}).read(io.BytesIO(content))
    assert batch.steps.tolist() == [9]
    assert {str(column.key): float(column.values[0]) for column in batch.columns} == {
        f"metric/{number}": float(number) for number in range(500)
    }


GOOD = [scalar(step, float(step)) for step in range(10)]


@pytest.mark.parametrize("place", ["length", "checksum of the length", "data", "checksum of the data"])
def test_a_damaged_record_is_reported_and_the_next_good_one_is_found(place: str, reading: Any) -> None:
    offset = {"length": 0, "checksum of the length": 8, "data": 20, "checksum of the data": len(GOOD[4]) - 1}[
        place
    ]
    bad = bytearray(GOOD[4])
    bad[offset] ^= 0x40
    before = FIRST + b"".join(GOOD[:4])
    result = reading.read_complete(NAME, before + bytes(bad) + b"".join(GOOD[5:]))
    assert [step for step, _ in result.values("loss")] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    ((where, reason),) = result.unreadable
    assert where == f"byte {len(before)}"
    assert f"{len(bad)} bytes were passed over" in reason


def test_the_stock_reader_stops_where_we_continue(tmp_path: Path, reading: Any) -> None:
    bad = bytearray(GOOD[4])
    bad[20] ^= 1
    path = tmp_path / NAME
    path.write_bytes(FIRST + b"".join(GOOD[:4]) + bytes(bad) + b"".join(GOOD[5:]))
    assert len(tensorboards(path)["loss"]) == 4
    assert len(ours(reading, path)["loss"]) == 9


def test_a_torn_record_with_new_ones_written_after_it_costs_only_itself(reading: Any) -> None:
    content = FIRST + GOOD[0] + GOOD[1][:20] + GOOD[2] + GOOD[3]
    result = reading.read_complete(NAME, content)
    assert [step for step, _ in result.values("loss")] == [0, 2, 3]
    assert len(result.unreadable) == 1


@pytest.mark.parametrize("tail", [bytes(4096), GOOD[1][:-3], GOOD[1][:5], bytes(3_000_000)])
def test_an_unfinished_end_is_waited_for(tail: bytes, reading: Any) -> None:
    content = FIRST + GOOD[0] + tail
    stream = io.BytesIO(content)
    list(EventFile().reader(Path(NAME), {}).read(stream))
    assert stream.tell() == len(FIRST + GOOD[0])
    assert reading.read_complete(NAME, content).unreadable == []
    after = FIRST + GOOD[0] + GOOD[1] + GOOD[2]
    assert len(reading.read_growing(NAME, after, [len(FIRST + GOOD[0]), len(after)]).values("loss")) == 3


def test_a_last_record_whose_bytes_have_not_all_arrived_is_waited_for(reading: Any) -> None:
    late = bytearray(GOOD[1])
    late[-12:] = bytes(12)
    stream = io.BytesIO(FIRST + GOOD[0] + bytes(late))
    list(EventFile().reader(Path(NAME), {}).read(stream))
    assert stream.tell() == len(FIRST + GOOD[0])


def test_noise_longer_than_a_torn_write_is_passed_over(reading: Any) -> None:
    noise = np.random.default_rng(7).integers(0, 256, 3_000_000, dtype=np.uint8).tobytes()
    result = reading.read_complete(NAME, FIRST + GOOD[0] + noise + GOOD[1])
    assert [step for step, _ in result.values("loss")] == [0, 1]
    assert len(result.unreadable) == 1


def test_a_record_that_is_no_event_is_reported_and_costs_only_itself(reading: Any) -> None:
    result = reading.read_complete(NAME, FIRST + GOOD[0] + framed(b"\x0a\xff\xff\xff\xff\x0f") + GOOD[1])
    assert len(result.values("loss")) == 2
    assert result.unreadable == [
        (f"byte {len(FIRST + GOOD[0])}", "expected a TensorBoard event, found a record that is not one")
    ]


def test_a_graph_too_large_to_hold_is_passed_over_in_silence_a_summary_is_not(reading: Any) -> None:
    graph = record(Event(wall_time=1.7e9, graph_def=bytes(17 * 1024 * 1024)))
    assert reading.read_complete(NAME, FIRST + graph + GOOD[0]).unreadable == []
    image = Summary(value=[Summary.Value(tag="x" * 17 * 1024 * 1024, simple_value=1)])
    result = reading.read_complete(NAME, FIRST + record(Event(wall_time=1.7e9, summary=image)) + GOOD[0])
    assert len(result.values("loss")) == 1
    assert len(result.unreadable) == 1


def test_a_record_larger_than_a_block_is_read(reading: Any) -> None:
    values = [Summary.Value(tag="t" * 2_000_000, simple_value=1), Summary.Value(tag="loss", simple_value=2)]
    content = FIRST + record(Event(wall_time=1.7e9, step=5, summary=Summary(value=values))) + scalar(6, 1.0)
    assert reading.read_complete(NAME, content).values("loss") == [(5, 2.0), (6, 1.0)]


def test_batches_of_a_large_file_are_bounded_and_complete() -> None:
    values = [Summary.Value(tag=f"m{number}", simple_value=1) for number in range(1000)]
    event = record(Event(wall_time=1.7e9, step=1, summary=Summary(value=values)))
    reader = EventFile().reader(Path(NAME), {})
    batches = [batch.points for batch in reader.read(io.BytesIO(FIRST + event * 500))]
    assert sum(batches) == 500_000
    assert max(batches) <= MAX_BATCH_POINTS + 1000


@settings(max_examples=150, deadline=None)
@given(
    events=st.lists(
        st.builds(
            lambda step, tags, value: Event(
                wall_time=1.5,
                step=step,
                summary=Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag in tags]),
            ),
            step=st.integers(-(2**63), 2**63 - 1),
            tags=st.lists(st.text(max_size=5), max_size=4),
            value=st.floats(width=32),
        ),
        max_size=40,
    )
)
def test_any_events_are_read_as_protobuf_reads_them(events: list[Event], reading: Any) -> None:
    expected: dict[str, list[tuple[int, str]]] = {}
    for event in events:
        for value in event.summary.value:
            expected.setdefault(value.tag, []).append((event.step, repr(value.simple_value)))
    result = reading.read_complete(NAME, FIRST + b"".join(record(event) for event in events))
    found = {
        key.metric: [(step, repr(value)) for step, value in result.values(key.metric)]
        for key in result.points
    }
    assert found == expected


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(payloads=st.lists(st.binary(max_size=60), max_size=40), copies=st.sampled_from([1, 20]))
def test_any_bytes_in_good_records_are_read_alike_one_by_one_and_together(
    payloads: list[bytes], copies: int, reading: Any
) -> None:
    content = FIRST + b"".join(framed(payload) for payload in payloads) * copies
    ends = [len(FIRST)]
    for payload in payloads * copies:
        ends.append(ends[-1] + len(payload) + 16)
    complete = reading.read_complete(NAME, content)
    apart = reading.read_growing(NAME, content, ends)
    assert apart.points == complete.points


def test_a_message_of_very_many_fields_costs_no_more_than_its_bytes() -> None:
    content = FIRST + framed(b"\x50\x00" * 500_000)
    began = time.monotonic()
    list(EventFile().reader(Path(NAME), {}).read(io.BytesIO(content)))
    assert time.monotonic() - began < 100  # quadratic cost would take hours
