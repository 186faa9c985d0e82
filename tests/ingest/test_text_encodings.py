"""Texts as other systems write them: UTF-16, byte-order marks, carriage returns, no end of the last line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import SeriesKey

LOSS = SeriesKey("Loss", ())
TEXT = "".join(f"Epoch [1/60], Step [{step}/445], Loss: {1 / step:.3f}\n" for step in range(1, 30))
ENCODED = {
    "UTF-16 LE": TEXT.encode("utf-16"),
    "UTF-16 BE": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "carriage returns": TEXT.replace("\n", "\r").encode(),
    "Windows": TEXT.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("content", ENCODED.values(), ids=list(ENCODED))
def test_every_row_is_read(tmp_path: Path, memory: Any, content: bytes) -> None:
    file = tmp_path / "train.log"
    file.write_bytes(content)
    run = read_run(file)
    assert len(run.data.series[LOSS]) == 29
    assert not run.unreadable
    assert [report.points[LOSS] for report in explain_files(file)] == [29]
    Follower([tmp_path], memory).catch_up()
    assert sum(len(delivery.batch.steps) for delivery in memory.deliveries) == 29


def test_text_in_utf_16_is_followed_while_it_grows(tmp_path: Path, memory: Any) -> None:
    content, file = ENCODED["UTF-16 LE"], tmp_path / "train.log"
    follower = Follower([tmp_path], memory)
    for size in [1000, 1001, 1503, len(content)]:
        file.write_bytes(content[:size])
        follower.catch_up()
    steps = [step for delivery in memory.deliveries for step in delivery.batch.steps.tolist()]
    assert steps == list(range(1, 30))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.log", TEXT.rstrip()),
        ("log.csv", "step,Loss\n" + "\n".join(f"{step},0.5" for step in range(1, 30))),
        ("log.jsonl", "\n".join(f'{{"step": {step}, "Loss": 0.5}}' for step in range(1, 30))),
    ],
)
def test_a_last_line_without_an_end_is_read_in_a_complete_file(
    tmp_path: Path, memory: Any, name: str, content: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    assert len(read_run(file).data.series[LOSS]) == 29
    Follower([tmp_path], memory).catch_up()  # the file may still be written to
    assert sum(len(delivery.batch.steps) for delivery in memory.deliveries) == 28


def test_percentages_in_a_table_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("step,loss,acc\n1,0.5,50%\n2,0.4,60 %\n3,0.3,70%\n")
    run = read_run(file)
    assert run.data.series[SeriesKey("acc", ())].value.tolist() == [50.0, 60.0, 70.0]
    assert not run.unreadable


def test_nvidia_smi_with_unix_seconds(tmp_path: Path) -> None:
    file = tmp_path / "smi.csv"
    rows = "".join(f"{1_700_000_000 + 5 * row}, 0, 9{row} %\n" for row in range(3))
    file.write_text("timestamp, index, utilization.gpu [%]\n" + rows)
    run = read_run(file)
    assert run.points == 3
    assert not run.unreadable
