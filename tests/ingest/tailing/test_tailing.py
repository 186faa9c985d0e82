"""Tailing real files that grow, appear, are rotated, rewritten or broken; many files; failing sinks."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import pytest
from tensorboardX import SummaryWriter

from holter.ingest import formats
from holter.ingest.csv.csv_log import CsvLog
from holter.ingest.tailing.follower import Follower
from holter.types import Cursor


def eventually(check: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.01)


@contextmanager
def following(root: Path, sink: Any, **options: Any) -> Iterator[Follower]:
    stop = threading.Event()
    follower = Follower([root], sink, stop=stop, **options)
    thread = threading.Thread(target=follower.run)
    thread.start()
    try:
        yield follower
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture(params=[None, 0.05], ids=["notified by the kernel", "polling"])
def poll(request: pytest.FixtureRequest) -> float | None:
    value: float | None = request.param
    return value


def test_what_is_written_arrives_well_within_a_second(
    tmp_path: Path, memory: Any, poll: float | None
) -> None:
    path = tmp_path / "exp1" / "log.csv"
    path.parent.mkdir()
    path.write_text("step,loss\n")
    with following(tmp_path, memory, poll=poll):
        eventually(lambda: str(path) in memory.cursors)
        delays = []
        for step in range(10):
            append(path, f"{step},1.5\n")
            began = time.monotonic()
            eventually(lambda step=step: memory.collect("exp1").count == step + 1)
            delays.append(time.monotonic() - began)
    assert min(delays) < 0.5  # other load on the machine may delay some
    assert memory.collect("exp1").values("loss") == [(step, 1.5) for step in range(10)]


def test_a_file_that_no_format_claims_is_left_to_the_analysis(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("7,0.5\n9,0.25\n")
    follower = Follower([path], memory)
    follower.catch_up()
    (line,) = follower.summary()
    assert line.startswith(f"{path}: no log")
    assert "`holter analyze` reads other files" in line


def test_files_and_folders_that_appear_are_found(tmp_path: Path, memory: Any, poll: float | None) -> None:
    with following(tmp_path, memory, poll=poll):
        time.sleep(0.3)
        for name in ("a", "b/c"):
            (tmp_path / name).mkdir(parents=True)
            (tmp_path / name / "log.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
        eventually(lambda: memory.runs == {"a", "b/c"}, 60)


def test_a_file_is_recognised_once_its_header_is_there(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.csv"
    path.touch()
    with following(tmp_path, memory):
        time.sleep(0.2)
        for piece in ("ste", "p,loss\n1,", "2.5\n"):
            append(path, piece)
            time.sleep(0.1)
        eventually(lambda: memory.deliveries)
    assert memory.collect(tmp_path.name).values("loss") == [(1, 2.5)]


def test_following_continues_where_another_follower_stopped(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,loss\n" + "".join(f"{step},1\n" for step in range(10)))
    Follower([tmp_path], memory).catch_up()
    append(path, "10,1\n11,")
    Follower([tmp_path], memory).catch_up()
    append(path, "1\n")
    Follower([tmp_path], memory).catch_up()
    assert [step for step, _ in memory.collect(tmp_path.name).values("loss")] == list(range(12))


def test_a_renamed_log_is_read_to_its_end_before_its_successor(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "loss": 1}\n')
    Follower([tmp_path], memory).catch_up()
    append(path, '{"step": 2, "loss": 1}\n')
    path.rename(tmp_path / "log.jsonl.1")
    path.write_text('{"step": 3, "loss": 1}\n')
    Follower([tmp_path], memory).catch_up()
    append(path, '{"step": 4, "loss": 1}\n')
    Follower([tmp_path], memory).catch_up()
    assert [step for step, _ in memory.collect(tmp_path.name).values("loss")] == [1, 2, 3, 4]


def test_a_copy_put_in_the_location_of_a_log_is_not_read_again(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "loss": 1}\n')
    Follower([tmp_path], memory).catch_up()
    shutil.copy(path, tmp_path / "copy")
    append(tmp_path / "copy", '{"step": 2, "loss": 1}\n')
    os.replace(tmp_path / "copy", path)
    Follower([tmp_path], memory).catch_up()
    assert [step for step, _ in memory.collect(tmp_path.name).values("loss")] == [1, 2]


def test_a_log_emptied_and_written_again_is_read_from_its_start(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "loss": 1}\n{"step": 2, "loss": 1}\n')
    follower = Follower([tmp_path], memory)
    follower.catch_up()
    path.write_text('{"step": 7, "loss": 2}\n')
    follower.catch_up()
    assert memory.collect(tmp_path.name).values("loss") == [(1, 1.0), (2, 1.0), (7, 2.0)]


def test_a_log_that_stays_shorter_is_taken_for_a_new_one_after_a_while(tmp_path: Path, memory: Any) -> None:
    path, now = tmp_path / "log.jsonl", [0.0]
    line = '{"step": 1, "loss": 1}\n'
    path.write_text(line * 100)
    follower = Follower([tmp_path], memory, clock=lambda: now[0])
    follower.catch_up()
    path.write_text(line * 60)
    follower.catch_up()
    assert memory.collect(tmp_path.name).count == 100
    now[0] = 61.0
    follower.catch_up()
    assert memory.collect(tmp_path.name).count == 160


def test_lightnings_rewritten_file_is_followed_without_repeats(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "metrics.csv"
    with following(tmp_path, memory):
        for size in range(1, 60):
            keys = ["epoch", "step", "train_loss"] + (["val_loss"] if size > 20 else []) + ["z"] * (size > 40)
            rows = [",".join(["0", str(step), "1.5", *[""] * (len(keys) - 3)]) for step in range(size)]
            path.write_text("\n".join([",".join(keys), *rows]) + "\n")
            time.sleep(0.02)
        eventually(lambda: memory.collect(tmp_path.name).values("train_loss")[-1:] == [(58, 1.5)])
    assert [step for step, _ in memory.collect(tmp_path.name).values("train_loss")] == list(range(59))


def test_event_files_of_the_real_writer_are_followed(tmp_path: Path, memory: Any, poll: float | None) -> None:
    with following(tmp_path, memory, poll=poll):
        with SummaryWriter(str(tmp_path / "run")) as writer:
            for step in range(50):
                writer.add_scalar("loss", step / 4, step)
                writer.flush()
                time.sleep(0.005)
        eventually(lambda: memory.collect("run").count == 50, 60)
    assert memory.collect("run").values("loss") == [(step, step / 4) for step in range(50)]


def test_a_run_retains_its_name_when_later_files_would_suggest_another(tmp_path: Path, memory: Any) -> None:
    inner = tmp_path / "exp" / "part"
    inner.mkdir(parents=True)
    (inner / "log.csv").write_text("step,loss\n1,1\n")
    Follower([tmp_path], memory).catch_up()
    (tmp_path / "exp" / "log.csv").write_text("step,loss\n1,1\n")
    append(inner / "log.csv", "2,1\n")
    Follower([tmp_path], memory).catch_up()
    assert memory.collect("exp/part").count == 2


def test_a_broken_file_never_stops_the_others(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "events.out.tfevents.1700000000.node.1.0").write_bytes(os.urandom(3_000_000))
    (tmp_path / "b" / "log.csv").write_text("step,loss\n1,1\n")
    Follower([tmp_path], memory).catch_up()
    assert memory.collect("b").count == 1
    assert len(memory.unreadable) == 1


def test_a_format_with_a_fault_never_stops_the_others(tmp_path: Path, memory: Any) -> None:
    class Faulty(CsvLog):
        name = "faulty"

        def sniff(self, path: PurePath, head: bytes) -> bool:
            return path.name == "faulty.log"

        def reader(self, path: PurePath, state: Mapping[str, Any]) -> Any:
            raise RuntimeError("a fault in a plug-in")

    (tmp_path / "faulty.log").write_text("anything")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "log.csv").write_text("step,loss\n1,1\n")
    Follower([tmp_path], memory, known={**formats(), "faulty": Faulty()}).catch_up()
    assert memory.runs == {"b"}


@pytest.mark.slow
def test_what_a_failing_sink_did_not_take_is_brought_again(tmp_path: Path, memory: Any) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("step,loss\n1,1\n2,1\n")
    failures = iter([True, True, True])
    memory.fails = lambda delivery: delivery.run == "a" and next(failures, False)
    with following(tmp_path, memory):
        eventually(lambda: memory.runs == {"b"})
        eventually(lambda: memory.runs == {"a", "b"})
        append(tmp_path / "a" / "log.csv", "3,1\n")
        eventually(lambda: memory.collect("a").count == 3)
    assert [step for step, _ in memory.collect("a").values("loss")] == [1, 2, 3]


def test_what_a_sink_refuses_for_ever_is_reported_and_left_behind(tmp_path: Path, memory: Any) -> None:
    def refuse(delivery: Any) -> bool:
        if delivery.batch.steps[0] == 1:
            raise ValueError("step 1 is not allowed here")
        return False

    memory.fails = refuse
    path = tmp_path / "log.csv"
    path.write_text("step,loss\n1,1\n")
    follower = Follower([tmp_path], memory)
    follower.catch_up()
    append(path, "2,1\n")
    follower.catch_up()
    assert memory.collect(tmp_path.name).values("loss") == [(2, 1.0)]
    assert [unreadable.reason for unreadable in memory.unreadable] == ["step 1 is not allowed here"]


def test_a_series_whose_name_cannot_be_retained_costs_only_itself(tmp_path: Path, memory: Any) -> None:
    (tmp_path / "log.csv").write_text(f"step,loss,{'x' * 600}\n1,1,2\n2,1,2\n")
    Follower([tmp_path], memory).catch_up()
    assert memory.collect(tmp_path.name).count == 2
    assert "expected text of 1 to 500 characters" in memory.unreadable[0].reason


def test_a_log_that_is_removed_and_comes_back_is_followed_again(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.csv"
    with following(tmp_path, memory, poll=0.05):
        path.write_text("step,loss\n1,1\n")
        eventually(lambda: memory.collect(tmp_path.name).count == 1)
        path.unlink()
        time.sleep(0.2)
        path.write_text("step,loss\n5,2\n6,2\n")
        eventually(lambda: memory.collect(tmp_path.name).count == 3)
    assert memory.collect(tmp_path.name).values("loss") == [(1, 1.0), (5, 2.0), (6, 2.0)]


def test_a_single_file_and_a_folder_are_followed_together_and_nothing_twice(
    tmp_path: Path, memory: Any
) -> None:
    path = tmp_path / "exp1" / "log.csv"
    path.parent.mkdir()
    path.write_text("step,loss\n1,1\n")
    Follower([tmp_path, path], memory).catch_up()
    assert sum(delivery.batch.points for delivery in memory.deliveries) == 1


@pytest.mark.slow
def test_thousands_of_files_are_followed_with_few_open_at_a_time(tmp_path: Path, memory: Any) -> None:
    paths = [tmp_path / f"run-{number:04}" / "log.csv" for number in range(2000)]
    for path in paths:
        path.parent.mkdir()
        path.write_text("step,loss\n1,1\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, hard))
    try:
        with following(tmp_path, memory):
            eventually(lambda: len(memory.deliveries) == 2000, 60)
            for path in paths[::200]:
                append(path, "2,1\n")
            eventually(lambda: len(memory.deliveries) == 2010, 60)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_cursors_state_exactly_where_reading_is(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,loss\n1,1\n2,1")
    Follower([tmp_path], memory, host="node7").catch_up()
    cursor: Cursor = memory.cursors[f"node7:{path}"]
    assert (cursor.offset, cursor.format) == (14, "csv")
    assert memory.deliveries[0].batch_id == f"node7:{path}:0:0-14"


REWRITING = """
import pathlib, random, sys, time
path, chance, keys = pathlib.Path(sys.argv[1]), random.Random(1), ["step", "loss"]
for size in range(1, 300):
    if size % 5 == 0:
        keys.append(f"key{size}")
    rows = [f"{step},{step / 2}" + "," * (len(keys) - 2) for step in range(size)]
    path.write_text("\\n".join([",".join(keys), *rows]) + "\\n")
    time.sleep(0.003 * chance.random())
"""


@pytest.mark.slow
def test_a_file_rewritten_while_it_is_being_read_shows_each_row_once(tmp_path: Path, memory: Any) -> None:
    follower = Follower([tmp_path], memory)
    with subprocess.Popen([sys.executable, "-c", REWRITING, str(tmp_path / "metrics.csv")]) as job:
        while job.poll() is None:
            follower.catch_up()
    follower.catch_up()
    assert memory.collect(tmp_path.name).values("loss") == [(step, step / 2) for step in range(299)]
    assert memory.unreadable == []


def test_several_runs_are_read_at_once_where_the_sink_may_be_called_so(tmp_path: Path, memory: Any) -> None:
    for number in range(40):
        place = tmp_path / f"run-{number:02}" / "log.csv"
        place.parent.mkdir()
        place.write_text("step,loss\n1,1\n")

    lock, inside, most = threading.Lock(), 0, 0

    def slow(delivery: Any) -> bool:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.05)
        with lock:
            inside -= 1
        return False

    memory.fails = slow
    Follower([tmp_path], memory, at_once=8).catch_up()
    assert len(memory.runs) == 40
    assert 1 < most <= 8


def test_the_files_of_a_run_are_read_in_their_order_however_many_runs_are_read_at_once(
    tmp_path: Path, memory: Any
) -> None:
    for number in range(8):
        for part in range(5):
            place = tmp_path / f"run-{number}" / f"log-{part}.csv"
            place.parent.mkdir(exist_ok=True)
            place.write_text(f"step,loss\n{part},1\n")
    Follower([tmp_path], memory, at_once=4).catch_up()
    for number in range(8):
        assert [step for step, _ in memory.collect(f"run-{number}").values("loss")] == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_a_look_at_thousands_of_files_without_news_costs_little(tmp_path: Path, memory: Any) -> None:
    for number in range(2000):
        place = tmp_path / f"run-{number:04}" / "log.csv"
        place.parent.mkdir()
        place.write_text("step,loss\n1,1\n")
    follower = Follower([tmp_path], memory)
    began = time.process_time()
    follower.catch_up()
    first = time.process_time() - began
    began = time.process_time()
    follower.catch_up()
    assert time.process_time() - began < first / 5
    assert len(memory.deliveries) == 2000


READING = """
import resource, sys
from pathlib import Path
from holter.ingest.tensorboard import numba_kernels as compiled
from holter.ingest.tensorboard.event_file import EventFile
from holter.ingest.tensorboard.jit import no_kernels
kernels = no_kernels if sys.argv[1] == "numpy" else lambda size: compiled
for path in sys.argv[2:]:
    with Path(path).open("rb") as stream:
        points = sum(batch.points for batch in EventFile(kernels).reader(Path(path), {}).read(stream))
    print(points, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["numpy", "compiled"])
def test_reading_an_event_file_takes_the_same_memory_whatever_its_size(tmp_path: Path, how: str) -> None:
    with SummaryWriter(str(tmp_path / "written")) as writer:
        for step in range(5000):
            writer.add_scalar(f"train/metric_{step % 50}", step / 4, step // 50)
    (written,) = (tmp_path / "written").glob("events*")
    small, large = tmp_path / "small.tfevents", tmp_path / "large.tfevents"
    small.write_bytes(written.read_bytes() * 40)  # 10 MB
    large.write_bytes(written.read_bytes() * 400)
    done = subprocess.run(
        [sys.executable, "-c", READING, how, str(small), str(large)],
        check=True,
        capture_output=True,
        text=True,
    )
    (points, before), (more, after) = (
        [int(word) for word in line.split()] for line in done.stdout.splitlines()
    )
    assert (points, more) == (200_000, 2_000_000)
    assert after - before < 12  # megabytes, of a hundred that were read
