"""Texts that were pasted from a terminal in parts that overlap, and others that only look like these."""

from __future__ import annotations

from pathlib import Path

import pytest

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
