"""Texts as other systems write them: encodings, byte-order marks, ends of lines, zeros between lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.explain import explain_files
from holter.ingest.offline.read_run import read_run
from holter.ingest.tailing.follower import Follower
from holter.types import SeriesKey
from tests.support.log_runs import read_log, steps_of

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


@pytest.mark.parametrize("hole", [100, 100_000])
def test_a_log_that_was_emptied_while_a_program_wrote_to_it_is_read(tmp_path: Path, hole: int) -> None:
    before = "".join(f"step: {n}, loss: 0.{n}\n" for n in range(1, 5))
    after = "".join(f"step: {n}, loss: 0.5\n" for n in range(5, 9))
    assert steps_of(read_log(tmp_path, b"\0" * hole + before.encode())) == {"loss": [*range(1, 5)]}
    run = read_log(tmp_path, before.encode() + b"\0" * hole + after.encode())
    assert steps_of(run) == {"loss": [*range(1, 9)]}


def test_a_few_zeros_between_the_lines_of_two_programs_make_no_binary_file(tmp_path: Path) -> None:
    lines = "".join(f"saved model_{n}.pt\n\0\0\0step: {n}, loss: 0.{n}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, lines)) == {"loss": [*range(1, 5)]}


CHINESE = "".join(f"轮次：{n}，步数: {n}00, 损失: 2.{n}, 准确率：0.5\n" for n in range(1, 4))


FRENCH = "".join(f"Itération {n}00: perte: 2.{n} précision: 0.5\n" for n in range(1, 4))


@pytest.mark.parametrize(
    ("text", "encoding", "name", "read_as"),
    [
        (CHINESE, "gbk", "损失", "GB18030"),
        (CHINESE, "gb18030", "准确率", "GB18030"),
        (FRENCH, "latin-1", "précision", "Latin-1"),
        (CHINESE, "utf-8", "损失", None),
        (FRENCH, "utf-8", "précision", None),
    ],
)
def test_lines_that_are_not_utf_8_are_read_and_doctor_says_it(
    tmp_path: Path, reading: Any, text: str, encoding: str, name: str, read_as: str | None
) -> None:
    content = text.encode(encoding)
    run = read_log(tmp_path, content)
    assert steps_of(run)[name] == [100, 200, 300]
    (report,) = explain_files(tmp_path / "train.log")
    assert report.encoding == read_as
    complete = reading.read_complete("train.log", content)
    assert reading.read_growing("train.log", content, [*range(0, len(content), 7), len(content)]) == complete


def test_a_bar_that_is_cut_is_damage_and_no_other_encoding(tmp_path: Path) -> None:
    line = "Epoch 1/3 ████████ step 10: loss: 0.5\n".encode()
    (tmp_path / "train.log").write_bytes(line * 3 + line.replace(b"\xe2\x96\x88", b"\xe2\x96", 1))
    (report,) = explain_files(tmp_path / "train.log")
    assert report.encoding is None


def test_a_table_in_gbk_has_its_names(tmp_path: Path) -> None:
    table = "step,损失\n" + "".join(f"{n},0.{n}\n" for n in range(1, 4))
    assert steps_of(read_log(tmp_path, table.encode("gbk"), "log.csv")) == {"损失": [1, 2, 3]}


@pytest.mark.parametrize("dash", ["-", "\u2014", "\u00f9", "\u00fb"])
def test_a_dash_in_another_code_page_is_no_word_of_a_name(tmp_path: Path, dash: str) -> None:
    epochs = "".join(
        f"Epoch {n}/5 Loss: 1.{n} | Val Acc: 0.3{n}\n  Best weights kept {dash} Val Acc: 0.3{n}\n"
        for n in range(1, 6)
    )
    steps = steps_of(read_log(tmp_path, epochs))
    assert steps == {name: [*range(1, 6)] for name in ("Loss", "Val Acc", "best/Val Acc")}
