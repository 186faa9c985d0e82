"""Reading a run for `holter analyze`: everything in its folder, once, by attempt and step."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from holter.ingest.offline.read_run import read_run
from holter.types import SeriesKey

DATA = Path(__file__).parents[2] / "data"


def test_a_restarted_run_of_real_attempts_is_one_run_of_two(tmp_path: Path) -> None:
    for number in (0, 1):
        shutil.copy(DATA / "csv" / f"attempt-{number}.csv.gz", tmp_path)
    gathered = read_run(tmp_path)
    assert (gathered.attempts, gathered.points, gathered.unreadable) == (2, 12604, [])
    assert gathered.files == {"attempt-0.csv.gz": "csv", "attempt-1.csv.gz": "csv"}
    loss = gathered.data.series[SeriesKey("loss")]
    assert np.all(np.diff(loss.attempt) >= 0)
    assert loss.step[loss.attempt == 1][0] == 1531
    assert not loss.value.flags.writeable


def test_a_tensorboard_run_with_sub_writers_and_a_restart_is_one_run() -> None:
    gathered = read_run(DATA / "tensorboard" / "torch")
    loss = gathered.data.series[SeriesKey("lm-loss-training/lm loss")]
    assert gathered.attempts == 2
    assert loss.step[loss.attempt == 0].tolist() == list(range(10))
    assert loss.step[loss.attempt == 1].tolist() == list(range(5, 12))
    samples = gathered.data.series[SeriesKey("lm-loss-training/lm loss vs samples")]
    assert samples.step.tolist() == list(range(0, 160, 16))
    assert set(samples.attempt.tolist()) == {0}
    assert SeriesKey("iter", (("folder", "iter_a"),)) in gathered.data.series


def test_steps_that_go_backwards_in_one_file_begin_an_attempt(tmp_path: Path) -> None:
    steps = [*range(100), *range(60, 120)]
    rows = "".join(f"{step},{at}\n" for at, step in enumerate(steps))
    (tmp_path / "log.csv").write_text("step,loss\n" + rows)
    gathered = read_run(tmp_path)
    loss = gathered.data.series[SeriesKey("loss")]
    assert gathered.attempts == 2
    assert loss.step[loss.attempt == 1].tolist() == list(range(60, 120))


def test_of_several_writes_of_a_step_in_one_attempt_each_is_in_a_series(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n1,3.0\n2,2.0\n2,2.5\n3,1.0\n")
    series = read_run(tmp_path).data.series
    found = {str(key): (points.step.tolist(), points.value.tolist()) for key, points in series.items()}
    assert found == {"loss": ([1, 2, 3], [3.0, 2.0, 1.0]), "loss{repeat=2}": ([2], [2.5])}


def test_gathering_until_a_step_leaves_out_what_comes_later(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n" + "".join(f"{step},1\n" for step in range(50)))
    gathered = read_run(tmp_path, until_step=19)
    assert gathered.points == 20


def test_a_single_file_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "loss": 2.5}\n')
    gathered = read_run(path)
    assert (gathered.points, gathered.files) == (1, {"log.jsonl": "jsonl"})


def test_what_cannot_be_read_is_reported_with_its_file_and_location(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n1,2.5\nbad\n2,2.0\n3,1.5")
    gathered = read_run(tmp_path)
    assert [(unreadable.source, unreadable.location) for unreadable in gathered.unreadable] == [
        ("log.csv", "line 3"),
    ]
    assert gathered.points == 3, "the last line of a file that is read once needs no line end"


def test_a_torn_gzip_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path) -> None:
    text = "step,loss\n" + "".join(f"{step},{np.sin(step):.9f}\n" for step in range(20_000))
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(text.encode())[:-5000])
    gathered = read_run(tmp_path)
    assert 10_000 < gathered.points < 20_000
    assert any("expected a complete gzip file" in unreadable.reason for unreadable in gathered.unreadable)


@pytest.mark.parametrize("name", ["nothing-here", "notes.txt", "config.json", "data.csv", "model.pt"])
def test_where_nothing_is_readable_there_are_no_points(name: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("name,price\nbread,2\n")
    (tmp_path / "config.json").write_text('{"step": 1}')
    (tmp_path / "notes.txt").write_text("step 1\n")
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04" + bytes(64) + b"step,loss\n1,2\n")
    gathered = read_run(tmp_path / name)
    assert (gathered.points, gathered.attempts, gathered.files) == (0, 0, {})


def test_gzip_files_written_one_after_another_are_read_as_one(tmp_path: Path) -> None:
    parts = (b"step,loss\n1,2.5\n", b"2,2.0\n", b"3,1.5\n")
    (tmp_path / "log.csv.gz").write_bytes(b"".join(gzip.compress(part) for part in parts) + bytes(512))
    gathered = read_run(tmp_path)
    assert (gathered.points, gathered.unreadable) == (3, [])


def test_links_within_the_folder_are_not_read_twice(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.csv").write_text("step,loss\n1,2.5\n")
    (tmp_path / "latest").symlink_to("run")
    (tmp_path / "latest.csv").symlink_to("run/log.csv")
    assert len(read_run(tmp_path).files) == 1


@pytest.mark.parametrize("others", [{}, {"config.json": '{"lr": 0.1}'}])
def test_the_only_log_may_be_next_to_the_checkpoints(others: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "history.csv").write_text("epoch,loss\n1,0.5\n2,0.25\n")
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    run = read_run(tmp_path)
    assert run.data.series[SeriesKey("loss")].value.tolist() == [0.5, 0.25]


def test_logs_next_to_checkpoints_are_not_read_beside_others(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "history.csv").write_text("epoch,loss\n1,0.5\n2,0.25\n")
    (tmp_path / "log.csv").write_text("epoch,acc\n1,0.5\n2,0.25\n")
    assert [*read_run(tmp_path).data.series] == [SeriesKey("acc")]
