"""A file that takes long delays no other: what is appended to a log, and a new log, are read meanwhile."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import pytest

from holter.ingest import formats
from holter.ingest.discovery.detect_format import detect_format
from holter.ingest.format import FormatRole
from holter.ingest.open_log import OpenedLog, open_log
from holter.ingest.tailing import tail
from holter.ingest.tailing.follower import Follower
from holter.types import Batch, Delivery, Unreadable
from tests.support.log_reading import MemorySink
from tests.support.waiting import wait_for


class EndlessFormat:
    """Files that end in `.endless` yield no record until the test is over."""

    name = "endless"
    role = FormatRole()

    def __init__(self) -> None:
        self.over, self.begun = threading.Event(), threading.Event()

    def sniff(self, path: PurePath, head: bytes) -> bool:
        return path.suffix == ".endless"

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> EndlessFormat:
        return self

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        self.begun.set()
        self.over.wait(60)
        yield from ()

    def state(self) -> Mapping[str, Any]:
        return {}


@pytest.fixture
def memory() -> MemorySink:
    return MemorySink()


def stored_rows(memory: MemorySink, run: str) -> int:
    return sum(len(delivery.batch.steps) for delivery in memory.deliveries if delivery.run == run)


@contextmanager
def followed(root: Path, memory: MemorySink, end: Callable[[], object], **options: Any) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=Follower([root], memory, stop=stop, at_once=3, **options).run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        end()
        thread.join(60)
        assert not thread.is_alive()


def write_log(root: Path, run: str) -> Path:
    path = root / run / "metrics.csv"
    path.parent.mkdir()
    path.write_text("step,loss\n1,2.5\n")
    return path


def append(path: Path, step: int) -> None:
    with path.open("a") as file:
        file.write(f"{step},2.5\n")


@pytest.mark.parametrize("count", [1, 5])
def test_files_without_a_record_for_long_delay_no_line_of_others(
    count: int, tmp_path: Path, memory: MemorySink
) -> None:
    good, endless = write_log(tmp_path, "good"), EndlessFormat()
    with followed(tmp_path, memory, endless.over.set, known={**formats(), "endless": endless}):
        wait_for(lambda: stored_rows(memory, "good") == 1)
        for number in range(count):
            folder = tmp_path / f"bad-{number}"
            folder.mkdir()
            (folder / "file.endless").write_text("x")
        assert endless.begun.wait(60)
        append(good, 2)
        wait_for(lambda: stored_rows(memory, "good") == 2)
        if count < 3:  # a thread is left for logs that are new
            write_log(tmp_path, "new")
            wait_for(lambda: stored_rows(memory, "new") == 1)
        assert not endless.over.is_set()


def test_unpacking_a_log_delays_no_line_of_others(
    tmp_path: Path, memory: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, begun, over = write_log(tmp_path, "good"), threading.Event(), threading.Event()

    def open_slowly(path: Path) -> OpenedLog:
        if path.suffix == ".gz":
            begun.set()
            over.wait(60)
        return open_log(path)

    monkeypatch.setattr(tail, "open_log", open_slowly)
    with followed(tmp_path, memory, over.set):
        wait_for(lambda: stored_rows(memory, "good") == 1)
        packed = tmp_path / "packed" / "metrics.jsonl.gz"
        packed.parent.mkdir()
        packed.write_bytes(gzip.compress(b'{"step": 1, "loss": 2.5}\n' * 3))
        assert begun.wait(60)
        append(good, 2)
        wait_for(lambda: stored_rows(memory, "good") == 2)
        assert not over.is_set()


def test_lines_of_a_log_are_stored_before_many_new_files(tmp_path: Path, memory: MemorySink) -> None:
    good, over = write_log(tmp_path, "good"), threading.Event()

    def fails(delivery: Delivery) -> bool:
        if delivery.run != "good":  # a slow disk
            over.wait(0.05)
        return False

    memory.fails = fails
    with followed(tmp_path, memory, over.set):
        wait_for(lambda: stored_rows(memory, "good") == 1)
        for number in range(300):
            write_log(tmp_path, f"job-{number}")
        wait_for(lambda: len(memory.deliveries) > 10)
        append(good, 2)
        wait_for(lambda: stored_rows(memory, "good") == 2)
        assert len({delivery.run for delivery in memory.deliveries}) < 300


def test_the_search_for_a_first_record_is_resumed(tmp_path: Path, memory: MemorySink) -> None:
    text = tmp_path / "late" / "train.log"
    text.parent.mkdir()
    text.write_bytes(b"no record in this line of text\n" * 20_000 + b"step 1 loss 2.5\nstep 2 loss 2.25\n")
    known, searches = formats(), 1
    found = detect_format(text, known, search_seconds=0)
    while found.searching:
        resumed = detect_format(text, known, before=found, search_seconds=0)
        assert resumed.searched > found.searched or not resumed.searching
        found, searches = resumed, searches + 1
    assert found == detect_format(text, known)
    assert found.format is not None
    assert searches > 5
    Follower([tmp_path], memory).catch_up()
    assert stored_rows(memory, "late") == 2
