"""Rotated logs: whatever a rotation does to a file that was read, each step comes once and in order."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.tailing.follower import Follower
from holter.ingest.tailing.rotation import predecessors

Look = Callable[[], None]
Rotation = Callable[[Path, Look], None]


def lines(first: int, last: int) -> str:
    return "".join(f"iter {step}: loss 3.5, time 10.0ms, mfu 0.1%\n" for step in range(first, last))


def append(log: Path, first: int, last: int) -> None:
    with log.open("a") as file:
        file.write(lines(first, last))


def renamed_before_there_is_a_new_one(log: Path, look: Look) -> None:
    append(log, 10, 20)
    log.rename(log.with_name("train.log.1"))
    look()
    append(log, 20, 30)


def renamed(log: Path, look: Look) -> None:
    append(log, 10, 20)
    log.rename(log.with_name("train.log.1"))
    append(log, 20, 30)


def renamed_and_still_written_to(log: Path, look: Look) -> None:
    with log.open("a") as file:
        log.rename(log.with_name("train.log.1"))
        look()
        file.write(lines(10, 20))
        file.flush()
        look()
    append(log, 20, 30)


def renamed_twice(log: Path, look: Look) -> None:
    append(log, 10, 15)
    log.rename(log.with_name("train.log.1"))
    append(log, 15, 20)
    look()
    log.with_name("train.log.1").rename(log.with_name("train.log.2"))
    log.rename(log.with_name("train.log.1"))
    append(log, 20, 30)


def renamed_by_date(log: Path, look: Look) -> None:
    append(log, 10, 20)
    log.rename(log.with_name("train.log-20260822"))
    append(log, 20, 30)


def copied_then_emptied(log: Path, look: Look) -> None:
    append(log, 10, 20)
    shutil.copy(log, log.with_name("train.log.1"))
    os.truncate(log, 0)
    look()
    append(log, 20, 30)


def copied_slowly_then_emptied(log: Path, look: Look) -> None:
    append(log, 10, 20)
    complete = log.read_bytes()
    for size in (100, 200, len(complete)):
        log.with_name("train.log.1").write_bytes(complete[:size])
        look()
    os.truncate(log, 0)
    append(log, 20, 30)


def packed_at_once(log: Path, look: Look) -> None:
    append(log, 10, 20)
    with gzip.open(log.with_name("train.log.1.gz"), "wb") as packed:
        packed.write(log.read_bytes())
    log.unlink()
    append(log, 20, 30)


def packed_later(log: Path, look: Look) -> None:
    append(log, 10, 20)
    older = log.with_name("train.log.1")
    log.rename(older)
    append(log, 20, 30)
    look()
    with gzip.open(log.with_name("train.log.1.gz"), "wb") as packed:
        packed.write(older.read_bytes())
    older.unlink()


def deleted(log: Path, look: Look) -> None:
    append(log, 10, 20)
    log.unlink()
    look()
    append(log, 20, 30)


def moved_out_of_sight(log: Path, look: Look) -> None:
    append(log, 10, 20)
    log.rename(log.parents[2] / "archive.txt")
    append(log, 20, 30)


FOUND_AGAIN: list[Rotation] = [
    renamed_before_there_is_a_new_one,
    renamed,
    renamed_and_still_written_to,
    renamed_twice,
    renamed_by_date,
    copied_then_emptied,
    copied_slowly_then_emptied,
    packed_at_once,
    packed_later,
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "run").mkdir(parents=True)
    return tmp_path / "logs" / "run" / "train.log"


@pytest.mark.parametrize("rotate", [*FOUND_AGAIN, deleted, moved_out_of_sight])
def test_each_step_is_reported_once(rotate: Rotation, log: Path, memory: Any) -> None:
    follower = Follower([log.parents[1]], memory)
    append(log, 0, 10)
    follower.catch_up()
    rotate(log, follower.catch_up)
    for _ in range(3):
        follower.catch_up()
    assert [step for step, _ in memory.collect("run").values("loss")] == list(range(30))
    assert {delivery.writer for delivery in memory.deliveries} == {"train.log"}


@pytest.mark.parametrize("rotate", FOUND_AGAIN)
def test_also_when_every_look_is_another_processs(rotate: Rotation, log: Path, memory: Any) -> None:
    def look() -> None:
        Follower([log.parents[1]], memory).catch_up()

    append(log, 0, 10)
    look()
    rotate(log, look)
    for _ in range(3):
        look()
    assert [step for step, _ in memory.collect("run").values("loss")] == list(range(30))


def test_a_long_life_of_random_rotations(log: Path, memory: Any) -> None:
    chance, follower, written = random.Random(3), Follower([log.parents[1]], memory), 0
    for _ in range(60):
        append(log, written, written + 7)
        written += 7
        if chance.random() < 0.7:
            follower.catch_up()
        if chance.random() < 0.3:
            follower = Follower([log.parents[1]], memory)
        if chance.random() < 0.4:
            for number in (3, 2, 1):
                older = log.with_name(f"train.log.{number}")
                if older.exists():
                    older.rename(log.with_name(f"train.log.{number + 1}"))
            if chance.random() < 0.5:
                shutil.copy(log, log.with_name("train.log.1"))
                os.truncate(log, 0)
            else:
                log.rename(log.with_name("train.log.1"))
            follower.catch_up()
    append(log, written, written + 7)
    follower.catch_up()
    follower.catch_up()
    steps = [step for step, _ in memory.collect("run").values("loss")]
    assert sorted(steps) == list(range(written + 7))


def test_logs_of_ranks_are_not_taken_for_one_that_was_rotated(log: Path, memory: Any) -> None:
    follower = Follower([log.parents[1]], memory)
    for rank in range(4):
        append(log.with_name(f"out.{rank}"), 0, 10)
    follower.catch_up()
    assert len(memory.collect("run").values("loss")) == 40


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("train.log.3.gz", ["train.log.3", "train.log.2", "train.log.2.gz", "train.log"]),
        ("train.log.1", ["train.log"]),
        ("train.log-20260822", ["train.log"]),
        ("train.log.2026-08-22_10-00", ["train.log"]),
        ("train.log.old", ["train.log"]),
        ("train.log", []),
    ],
)
def test_names_show_what_a_rotated_log_was_called(name: str, before: list[str]) -> None:
    assert predecessors(name) == before
