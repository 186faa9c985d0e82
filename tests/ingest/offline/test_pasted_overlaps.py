"""Texts that were pasted from a terminal in parts that overlap, and others that only look like these."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from holter.ingest.offline.pasted_overlaps import without_overlaps
from tests.support.log_runs import read_log, steps_of

OPENING = "2026-03-02 09:59:07 INFO Loading the oaks\n2026-03-02 09:59:08 INFO Model network of 3 layers\n"


def timed(first: int, last: int, day: int = 2) -> str:
    return "".join(
        f"2026-03-0{day} 10:{n:02d}:07 INFO Epoch {n} loss: 0.{n}\n" for n in range(first, last + 1)
    )


def headed(first: int, last: int) -> str:
    return "".join(f"Epoch {n}\n10:{n:02d}:07 INFO loss: 0.{n}\n" for n in range(first, last + 1))


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (timed(1, 10) + timed(6, 15), 15),
        (headed(1, 10) + headed(6, 15), 15),
        (headed(1, 10) + headed(6, 8), 10),
        (headed(1, 10) + headed(6, 10) + headed(6, 12), 12),
        (2 * (OPENING + timed(1, 10)), 10),
        (OPENING + timed(1, 6) + OPENING + timed(1, 10), 10),
    ],
)
def test_lines_that_were_pasted_twice_are_read_once(tmp_path: Path, text: str, last: int) -> None:
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run) == {"loss": [*range(1, last + 1)]}


@pytest.mark.parametrize(
    "text",
    [
        timed(1, 10) + timed(6, 15, day=3),  # at other times
        "".join(f"Epoch {n} loss: 0.{n}\n" for n in (*range(1, 11), *range(6, 16))),  # without any
        timed(1, 10) + timed(6, 8) + timed(9, 15, day=3),
    ],
)
def test_a_launch_that_prints_other_times_or_none_is_one_of_its_own(tmp_path: Path, text: str) -> None:
    assert read_log(tmp_path, text).attempts == 2


ROWS = "".join(f"{n},{2 - n / 8},{n / 16}\n" for n in range(1, 9))
HEADER = "epoch,loss,acc\n"


@pytest.mark.parametrize(
    "text",
    [
        2 * (HEADER + ROWS),  # the same seed again
        HEADER + 2 * ROWS,
        HEADER + ROWS + ROWS.replace("1.5", "1.6"),  # another training
        HEADER + ROWS[: len(ROWS) // 2] + ROWS,  # one that was left early
        HEADER + 2 * "".join(f"{n},0,1\n" for n in range(1, 9)),  # nothing that is measured
    ],
)
def test_a_table_that_begins_anew_is_of_another_launch(tmp_path: Path, text: str) -> None:
    assert read_log(tmp_path, text, "log.csv").attempts == 2


def test_a_problem_behind_lines_that_were_pasted_twice_is_at_its_byte_of_the_file(tmp_path: Path) -> None:
    above = timed(1, 10) + timed(6, 8)
    text = above + f"2026-03-02 10:11:07 INFO step {10**30} loss: 0.5\n" + timed(12, 15)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert [problem.location for problem in run.unreadable] == [f"byte {len(above)}"]


def test_locations_behind_cuts_are_those_of_the_file() -> None:
    text = (timed(1, 10) + timed(6, 15) + timed(13, 20)).encode()
    shortened = without_overlaps(io.BytesIO(text))
    left = shortened.stream.read()
    lines, last = text.splitlines(keepends=True), left.splitlines(keepends=True)
    assert len(last) == 20
    for number, line in enumerate(last):
        position = shortened.byte_of_file(sum(map(len, last[:number])))
        assert text[position:].startswith(line)
        location = shortened.location_in_file(f"line {number + 1}")
        assert lines[int(location.removeprefix("line ")) - 1] == line
    assert shortened.byte_of_file(len(left)) == len(text)
    assert shortened.location_in_file("file") == "file"
