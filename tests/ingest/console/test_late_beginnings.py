"""Texts that begin in a later epoch are at the same steps if they are analyzed, followed or explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holter.ingest import formats
from holter.ingest.discovery.scanner import LogTree
from holter.ingest.offline.explain_lines import explain_lines
from holter.ingest.tailing.follower import Follower
from tests.support.log_runs import read_log, steps_of

BATCHES = (30, 60, 90)
SETTINGS = "Namespace(lr=0.02, batch_size=32)\n" + "Reading shards ...\n" * 3
TEXTS = {
    "epochs and batches": "Epoch[{e}] Batch [{b}] loss={e}.{b}\n",
    "epochs and steps": "Epoch {e} step {b}, loss {e}.{b}\n",
    "batches with their number": "Epoch: [{e}][{b}/120] loss {e}.{b}\n",
}


def text_of(line: str, *epochs: int) -> str:
    return "".join(line.format(e=e, b=b) for e in epochs for b in BATCHES)


def followed(memory: Any, path: Path, **options: Any) -> list[tuple[int, float]]:
    """The losses that a follower delivers of a file that exists."""
    Follower([path], memory, **options).catch_up()
    return [
        (step, value)
        for delivery in memory.deliveries
        for column in delivery.batch.columns
        for step, value in zip(delivery.batch.steps_of(column).tolist(), column.values.tolist(), strict=True)
        if column.key.metric == "loss"
    ]


@pytest.mark.parametrize("head", ["", SETTINGS, "nothing of a step\n" * 20_000], ids=["", "settings", "long"])
@pytest.mark.parametrize("line", TEXTS.values(), ids=TEXTS)
def test_followed_texts_that_begin_in_a_later_epoch_are_at_the_steps_of_analyzed_ones(
    tmp_path: Path, memory: Any, line: str, head: str
) -> None:
    text = head + text_of(line, 7, 8, 9)
    analyzed = steps_of(read_log(tmp_path, text))["loss"]
    assert analyzed[0] > 7 * BATCHES[0]
    assert [step for step, _ in followed(memory, tmp_path / "train.log")] == analyzed


def test_what_is_appended_to_a_text_that_began_in_a_later_epoch_is_behind_it(
    tmp_path: Path, memory: Any
) -> None:
    path, line = tmp_path / "train.log", TEXTS["epochs and steps"]
    path.write_text(text_of(line, 4, 5))
    follower = Follower([path], memory)
    follower.catch_up()
    with path.open("a") as file:
        file.write(text_of(line, 6))
    follower.catch_up()
    steps = steps_of(read_log(tmp_path, path.read_text()))["loss"]
    assert [step for delivery in memory.deliveries for step in delivery.batch.steps.tolist()] == steps


def test_the_first_epoch_that_is_still_being_written_is_at_its_own_steps(tmp_path: Path, memory: Any) -> None:
    path = tmp_path / "train.log"
    path.write_text(text_of(TEXTS["epochs and steps"], 4))
    assert followed(memory, path) == [(b, float(f"4.{b}")) for b in BATCHES]


def test_a_text_that_is_followed_in_slices_begins_in_a_later_epoch(tmp_path: Path, memory: Any) -> None:
    line, between = TEXTS["epochs and batches"], "words between the lines\n" * 10_000
    text = between.join(text_of(line, epoch) for epoch in range(5, 8))
    analyzed = steps_of(read_log(tmp_path, text))["loss"]
    assert [step for step, _ in followed(memory, tmp_path / "train.log", slice_bytes=1)] == analyzed


@pytest.mark.parametrize("line", TEXTS.values(), ids=TEXTS)
def test_explained_lines_of_a_later_epoch_have_the_steps_of_the_analysis(tmp_path: Path, line: str) -> None:
    analyzed = steps_of(read_log(tmp_path, text_of(line, 7, 8)))["loss"]
    (source,) = LogTree(tmp_path / "train.log", formats()).scan()
    explained = [row.step for line in explain_lines(source, 2**20) for row in line.rows]
    assert explained == analyzed
