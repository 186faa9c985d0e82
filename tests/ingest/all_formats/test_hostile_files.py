"""One bad file, or one mangled line, costs only itself: everything else is read, and it is reported."""

from __future__ import annotations

import io
import pickle
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import pytest

from holter.ingest import formats
from holter.ingest.communication.flight_recorder import FlightRecorder
from holter.ingest.communication.safe_pickle import UnsafePickleError, loads
from holter.ingest.discovery.scanner import LogTree
from holter.ingest.format import Format, FormatRole
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import Batch, Unreadable
from tests.support.machine_speed import is_within

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GOOD = "step,loss\n1,2.5\n2,2.25\n"


class FailingFormat:
    """Claims files that end in `.bad`, and raises `error` at one of its calls."""

    name = "failing"
    role = FormatRole()

    def __init__(self, error: Exception, call: str) -> None:
        self.error, self.call = error, call
        self.reads = 0

    def sniff(self, path: PurePath, head: bytes) -> bool:
        if path.suffix == ".bad" and self.call == "sniff":
            raise self.error
        return path.suffix == ".bad"

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> FailingFormat:
        if self.call == "reader":
            raise self.error
        return self

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        self.reads += 1
        raise self.error
        yield Unreadable(location="", reason="")

    def state(self) -> Mapping[str, Any]:
        return {}


def known_formats(failing: FailingFormat) -> dict[str, Format]:
    return {"failing": failing, **formats()}


ERRORS = [
    ValueError("odd"),
    MemoryError(),
    RecursionError(),
    IndexError("list index out of range"),
    KeyError(1),
]


@pytest.mark.parametrize("call", ["sniff", "reader", "read"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_format_that_fails_costs_one_file(tmp_path: Path, memory: Any, error: Exception, call: str) -> None:
    (tmp_path / "a.bad").write_text("anything\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "metrics.csv").write_text(GOOD)
    known = known_formats(FailingFormat(error, call))
    Follower([tmp_path], memory, known=known).catch_up()
    assert [len(delivery.batch.steps) for delivery in memory.deliveries] == [2]
    assert [Path(unreadable.source).name for unreadable in memory.unreadable] == ["a.bad"]
    assert type(error).__name__ in memory.unreadable[0].reason

    run = read_run(tmp_path, known=known)
    assert run.points == 2
    assert [unreadable.source for unreadable in run.unreadable] == ["a.bad"]
    reports = {report.path.name: report for report in explain_files(tmp_path, known=known)}
    assert reports["metrics.csv"].points
    assert type(error).__name__ in reports["a.bad"].why_not + "".join(
        unreadable.reason for unreadable in reports["a.bad"].unreadable
    )


def test_a_failing_file_is_reported_once_and_tried_again_when_it_grows(tmp_path: Path, memory: Any) -> None:
    bad = tmp_path / "a.bad"
    bad.write_text("anything\n")
    failing, now = FailingFormat(ValueError("odd"), "read"), [100.0]
    follower = Follower([tmp_path], memory, known=known_formats(failing), clock=lambda: now[0])
    for _ in range(5):
        follower.catch_up()
        now[0] += 10
    assert failing.reads == 1  # it has not changed
    for _ in range(20):
        bad.write_text(bad.read_text() + "more\n")
        follower.catch_up()
        now[0] += 1
    assert 2 < failing.reads < 8  # each pause is twice as long
    assert len(memory.unreadable) == 1
    again = Follower([tmp_path], memory, known=known_formats(failing))
    again.catch_up()
    assert len(memory.unreadable) == 1  # also after a restart


@pytest.mark.parametrize("content", [BYTE_ORDER_MARK, BYTE_ORDER_MARK + b"\n", BYTE_ORDER_MARK + b",\n1,2\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.log", "a.txt", "a.json", "a.jsonl", "a"])
def test_a_lone_byte_order_mark_stops_nothing(tmp_path: Path, memory: Any, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "metrics.csv").write_text(GOOD)
    Follower([tmp_path], memory).catch_up()
    assert sum(len(delivery.batch.steps) for delivery in memory.deliveries) == 2
    assert read_run(tmp_path).points == 2
    assert len(explain_files(tmp_path)) == 2


DEEPSPEED = (
    "[INFO] epoch=0/micro_step={0}/global_step={0}, RunningAvgSamplesPerSec={1}, CurrSamplesPerSec=172.5\n"
)
BATCHES = "Epoch: [{1}][{0}/100]\tTime 0.5 (0.5)\tLoss {0}.5 (6.9)\n"
MANGLED = {
    "two writers interleaved": (DEEPSPEED, "172.125", "172.160.5"),
    "a number of 4,983 digits": (BATCHES, "0", "7" * 4983),
    "a number of 3,000 digits": (BATCHES, "0", "7" * 3000),
}


@pytest.mark.parametrize("sample", MANGLED)
def test_a_mangled_line_costs_itself(reading: Any, sample: str) -> None:
    template, good, bad = MANGLED[sample]
    lines = [template.format(step, good if step != 20 else bad) for step in range(1, 46)]
    content = "".join(lines).encode()
    expected = "".join(lines[:19] + lines[20:]).encode()
    chosen = reading.format_of("train.log", expected)
    result = reading.read_complete("train.log", content, chosen=chosen)
    assert result.points == reading.read_complete("train.log", expected, chosen=chosen).points
    position = len("".join(lines[:19]))
    assert [location for location, _ in result.unreadable] == [f"byte {position}"]
    growing = reading.read_growing("train.log", content, [9000, len(content)], chosen=chosen)
    assert (growing.points, growing.unreadable) == (result.points, result.unreadable)


def test_the_state_of_a_reader_has_no_number_that_a_database_refuses() -> None:
    reader = formats()["key-value"].reader(PurePath("train.log"), {})
    list(reader.read(io.BytesIO(BATCHES.format(1, "7" * 3000).encode())))
    assert len(str(reader.state())) < 1000


def test_the_text_of_deepspeed_chat_that_took_seconds_is_parsed_at_once(reading: Any) -> None:
    chat = "epoch: 0|step: {0}|ppo_ep: 1|act_loss: 0.02{0}|cri_loss: 0.5|unsuper_loss: 0.0{1}\n"
    hostile = chat.format(8, "|a: " + "a1b:" * 40 + " !")
    content = "".join(chat.format(step, "") for step in range(7)) + hostile
    dialect = formats()["deepspeed"]
    began = time.thread_time()
    result = reading.read_complete("train.log", content.encode(), chosen=dialect)
    assert is_within(time.thread_time() - began, 1)
    assert len(result.values("act_loss")) == 7


@pytest.mark.parametrize(
    "text",
    [
        "=" * 60_000,
        "Epoch" + "\t" * 60_000,
        "epoch" + " " * 60_000 + "x",
        "1" * 60_000 + "/",
        "{'a': " * 9000,
        "loss: 1.0 " * 60_000,
    ],
)
def test_long_lines_take_no_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.log").write_text(f"{text}\n" * 3)
    began = time.thread_time()
    explain_files(tmp_path)
    assert is_within(time.thread_time() - began, 5)


def test_links_to_files_of_the_kernel_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    (tmp_path / "kernel.log").symlink_to("/proc/kmsg")
    (tmp_path / "device.log").symlink_to("/sys/kernel/uevent_seqnum")
    assert [source.path.name for source in LogTree(tmp_path, formats()).scan()] == ["good.jsonl"]


def _exploding() -> Any:
    nested: Any = ("a",)
    for _ in range(60):
        nested = (nested, nested, nested)
    return nested


def _endless() -> Any:
    nested: list[Any] = []
    nested.append(nested)
    return nested


@pytest.mark.parametrize("make", [_exploding, _endless])
def test_a_pickle_that_expands_without_end_is_refused_at_once(make: Any) -> None:
    value = make()
    entry = {"pg_id": value, "process_group": (value, value), "state": value, "collective_seq_id": 1}
    dump = {"pg_config": {"0": {"ranks": value, "name": value}}, "pg_status": {}, "entries": [entry]}
    content = pickle.dumps(dump, protocol=2)
    assert len(content) < 2000
    with pytest.raises(UnsafePickleError, match="written out"):
        loads(content)
    began = time.thread_time()
    records = list(FlightRecorder().reader(PurePath("dump_0"), {}).read(io.BytesIO(content)))
    assert is_within(time.thread_time() - began, 1)
    assert [type(record) for record in records] == [Unreadable]


def test_a_dump_whose_names_are_no_text_is_reported_entry_by_entry() -> None:
    nested: Any = ("a",) * 1000
    nested = (nested,) * 100
    entry = {"pg_id": 0, "process_group": (nested, "x"), "collective_seq_id": 1, "time_created_ns": 1}
    content = pickle.dumps({"pg_config": {}, "pg_status": {}, "entries": [entry] * 5}, protocol=2)
    began = time.thread_time()
    records = list(FlightRecorder().reader(PurePath("dump_0"), {}).read(io.BytesIO(content)))
    assert is_within(time.thread_time() - began, 1)
    assert len(records) == 5
