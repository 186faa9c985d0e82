"""Restarts of Hugging Face's Trainer: a folder per launch, and which launches are attempts of one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboardX import SummaryWriter

from holter.ingest.discovery.hf_launches import TrainerLaunch, continued_launches
from holter.ingest.tailing.follower import Follower

ARGUMENTS = {"output_dir": "out/llama", "overwrite_output_dir": False, "logging_steps": 10}


def begin(runs: Path, stamp: str, began: int, **arguments: object) -> SummaryWriter:
    """What the Trainer's TensorBoardCallback does first: its arguments and the model's as text."""
    folder = runs / f"{stamp}_node7"
    writer = SummaryWriter(str(folder))
    writer.add_text("args", json.dumps({**ARGUMENTS, **arguments}, indent=2))
    writer.add_text("model_config", json.dumps({"hidden_size": 64}))
    writer.flush()
    next(folder.iterdir()).rename(folder / f"events.out.tfevents.{began}.node7.{began % 1000}.0")
    return writer


def train(writer: SummaryWriter, steps: range) -> None:
    for step in steps:
        writer.add_scalar("train/loss", 1.0 / (1 + step), step)
    writer.flush()


def launch(runs: Path, stamp: str, began: int, steps: range, **arguments: object) -> None:
    writer = begin(runs, stamp, began, **arguments)
    train(writer, steps)
    writer.close()


def steps_of(memory: Any, run: str) -> list[int]:
    return [step for step, _ in memory.collect(run).values("train/loss")]


def test_a_launch_that_resumes_continues_in_the_run_of_the_first(tmp_path: Path, memory: Any) -> None:
    follower = Follower([tmp_path], memory)
    runs = tmp_path / "llama" / "runs"
    launch(runs, "May31_23-50-00", 1_700_000_000, range(10, 300, 10))
    follower.catch_up()
    launch(runs, "Jun01_00-10-00", 1_700_001_200, range(210, 400, 10))
    launch(runs, "Jun01_02-00-00", 1_700_007_800, range(310, 500, 10))
    follower.catch_up()
    everything = [*range(10, 300, 10), *range(210, 400, 10), *range(310, 500, 10)]
    assert steps_of(memory, "llama/runs/May31_23-50-00_node7") == everything


def test_the_same_is_seen_by_who_comes_later(tmp_path: Path, memory: Any) -> None:
    launch(tmp_path / "runs", "May31_23-50-00", 1_700_000_000, range(10, 300, 10))
    launch(tmp_path / "runs", "Jun01_00-10-00", 1_700_001_200, range(210, 400, 10))
    Follower([tmp_path / "runs"], memory).catch_up()
    assert steps_of(memory, "May31_23-50-00_node7") == [*range(10, 300, 10), *range(210, 400, 10)]


def test_a_launch_is_waited_for_until_its_first_step_shows_whose_it_is(tmp_path: Path, memory: Any) -> None:
    follower = Follower([tmp_path], memory)
    launch(tmp_path / "runs", "May05_12-30-00", 1_700_000_000, range(10, 300, 10))
    writer = begin(tmp_path / "runs", "May05_13-30-00", 1_700_003_600)
    follower.catch_up()
    assert len(memory.cursors) == 1
    train(writer, range(210, 400, 10))
    writer.close()
    follower.catch_up()
    assert len(steps_of(memory, "runs/May05_12-30-00_node7")) == 29 + 19


@pytest.mark.parametrize(
    ("second", "arguments"),
    [
        (range(10, 200, 10), {}),
        (range(100, 500, 100), {"logging_steps": 100}),
        (range(210, 400, 10), {"output_dir": "out/other"}),
    ],
    ids=["begins anew", "begins anew and logs less often", "trains another model"],
)
def test_a_launch_that_does_not_continue_is_a_run_of_its_own(
    tmp_path: Path, memory: Any, second: range, arguments: dict[str, object]
) -> None:
    launch(tmp_path, "May05_12-30-00", 1_700_000_000, range(10, 300, 10))
    launch(tmp_path, "May05_13-30-00", 1_700_003_600, second, **arguments)
    Follower([tmp_path], memory).catch_up()
    assert steps_of(memory, "May05_12-30-00_node7") == list(range(10, 300, 10))
    assert steps_of(memory, "May05_13-30-00_node7") == list(second)


def test_folders_that_torch_names_alike_stay_apart(tmp_path: Path, memory: Any) -> None:
    for stamp, steps in (("May05_12-30-00", range(0, 100)), ("May05_13-30-00", range(50, 150))):
        writer = SummaryWriter(str(tmp_path / "runs" / f"{stamp}_node7"))
        train(writer, steps)
        writer.close()
    Follower([tmp_path], memory).catch_up()
    assert steps_of(memory, "runs/May05_12-30-00_node7") == list(range(0, 100))
    assert steps_of(memory, "runs/May05_13-30-00_node7") == list(range(50, 150))


def test_a_damaged_log_is_not_waited_for(tmp_path: Path, memory: Any) -> None:
    folder = tmp_path / "May05_12-30-00_node7"
    launch(tmp_path, "May05_12-30-00", 1_700_000_000, range(10, 300, 10))
    file = next(folder.iterdir())
    content = bytearray(file.read_bytes())
    content[40] ^= 0xFF
    file.write_bytes(content)
    Follower([tmp_path], memory).catch_up()
    assert steps_of(memory, folder.name) == list(range(10, 300, 10))
    assert [unreadable.location for unreadable in memory.unreadable] == ["byte 40"]


@given(st.lists(st.tuples(st.integers(0, 500), st.sampled_from([1, 10, 100])), max_size=8))
def test_a_later_launch_never_changes_whose_an_earlier_one_is(stated: list[tuple[int, int]]) -> None:
    launches = {
        Path(f"runs/{number}"): TrainerLaunch(
            output="out", started=number, interval=interval, first_step=first
        )
        for number, (first, interval) in enumerate(stated)
    }
    complete = continued_launches(launches)
    for size in range(len(stated)):
        earlier = {folder: launches[folder] for folder in list(launches)[:size]}
        assert continued_launches(earlier) == {
            folder: complete[folder] for folder in earlier if folder in complete
        }
