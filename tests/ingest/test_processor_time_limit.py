"""Commands that read files themselves limit the processor time for each."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import pytest

from holter.ingest import formats
from holter.ingest.file_tasks import FileTask
from holter.ingest.format import FormatRole
from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.processor_time import ProcessorTimeError, TaskTimer, limited_file_time
from holter.types import Batch, Unreadable

MIB = 2**20


class SlowFormat:
    """Claims files that end in `.slow`, and takes for ever to detect or to read them."""

    name = "slow"
    role = FormatRole()

    def __init__(self, call: str, work: str) -> None:
        self.call, self.work = call, work

    def sniff(self, path: PurePath, head: bytes) -> bool:
        if path.suffix == ".slow" and self.call == "sniff":
            self.take_time()
        return path.suffix == ".slow"

    def reader(self, path: PurePath, state: Mapping[str, Any]) -> SlowFormat:
        return self

    def read(self, stream: BinaryIO) -> Iterator[Batch | Unreadable]:
        self.take_time()
        yield Unreadable(location="", reason="")

    def take_time(self) -> None:
        if self.work == "pattern":
            re.match(r"(a+)+$", "a" * 60 + "b")
        while True:
            pass

    def state(self) -> Mapping[str, Any]:
        return {}


@pytest.mark.parametrize(("call", "work"), [("sniff", "loop"), ("read", "loop"), ("read", "pattern")])
def test_a_slow_file_costs_itself(tmp_path: Path, call: str, work: str) -> None:
    (tmp_path / "a.slow").write_text("anything\n")
    (tmp_path / "metrics.csv").write_text("step,loss\n1,2.5\n2,2.25\n")
    known = {"slow": SlowFormat(call, work), **formats()}
    with limited_file_time(0.3):
        run = read_run(tmp_path, known=known)
        reports = {report.path.name: report for report in explain_files(tmp_path, known=known)}
    assert run.points == 2
    (problem,) = run.unreadable
    assert (problem.source, "processor time" in problem.reason) == ("a.slow", True)
    assert reports["metrics.csv"].points
    assert not reports["a.slow"].points
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_the_times_of_the_parts_of_a_file_add_up() -> None:
    timer = TaskTimer(0.5)

    def read_part(start: int, seconds: float) -> None:
        timer.begin(FileTask(path="a.csv", phase="read", size=100, start=start))
        try:
            began = time.thread_time()
            while time.thread_time() - began < seconds:
                timer.check()
        finally:
            timer.end()

    for start in (0, 10, 0, 10):  # it is read twice, each time from its beginning
        read_part(start, 0.2)
    with pytest.raises(ProcessorTimeError):
        read_part(20, 0.4)


def test_the_time_grows_with_what_has_been_read() -> None:
    small = FileTask(path="a.csv", phase="read", size=1000)
    assert small.allowed_seconds(5, 0) == small.allowed_seconds(5, 1000) == 5
    large = FileTask(path="a.csv", phase="read", size=101 * MIB, start=MIB)
    assert large.allowed_seconds(5, MIB) == pytest.approx(5 + 9.9)  # it may be a format that reads it whole
    assert large.allowed_seconds(5, 101 * MIB) == pytest.approx(500 + 9.9)
    packed = FileTask(path="a.csv.gz", phase="read", size=3 * MIB)
    assert packed.allowed_seconds(5, 1000 * MIB) == 15
