"""Histories that pandas printed as data frames or single columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

ROWS = range(6)
FRAME = "       loss  val_loss\n" + "".join(f"{n}   1.{n}2500   1.{n}7500\n" for n in ROWS)
NAMED_INDEX = FRAME.replace("val_loss\n", "val_loss\nepoch                \n")
COUNTED = "   epoch     loss\n" + "".join(f"{n}      {n + 1}  1.{n}2500\n" for n in ROWS)
IN_PARTS = "\n".join(
    f"    {name:>9}{end}\n" + "".join(f"{n}    1.{n}25000  \n" for n in ROWS)
    for name, end in (("loss", "  \\"), ("accuracy", "  "))
)
COLUMN = "".join(f"{n}    1.{n}25\n" for n in ROWS) + "Name: val_loss, dtype: float64\n"
SHORT = "".join(f"{n}    1.{n}25\n" * (n != 3) + "      ...  \n" * (n == 3) for n in ROWS)
SHORT += "Name: loss, Length: 90, dtype: float64\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FRAME, {"loss": [*ROWS], "val_loss": [*ROWS]}),
        (NAMED_INDEX, {"loss": [*ROWS], "val_loss": [*ROWS]}),
        (COUNTED, {"loss": [n + 1 for n in ROWS]}),
        (IN_PARTS, {"loss": [*ROWS], "accuracy": [*ROWS]}),
        (COLUMN, {"val_loss": [*ROWS]}),
        (SHORT, {"loss": [0, 1, 2, 4, 5]}),
    ],
    ids=["frame", "named index", "column that counts", "parts", "column", "left out"],
)
def test_rows_of_a_printed_frame_have_its_names(
    text: str, expected: dict[str, list[int]], tmp_path: Path
) -> None:
    assert steps_of(read_log(tmp_path, "All done\n" + text)) == expected


def test_the_beginning_of_a_frame_that_is_printed_as_well_is_no_other_training(tmp_path: Path) -> None:
    head = "\n".join(FRAME.split("\n")[:4]) + "\n"
    assert {*steps_of(read_log(tmp_path, head + "\n" + FRAME))} == {"loss", "val_loss"}


def test_frames_with_other_rows_are_of_other_trainings(tmp_path: Path) -> None:
    run = read_log(tmp_path, FRAME + "\n" + FRAME.replace(" 1.", " 2."))
    assert run.attempts == 1
    assert {*steps_of(run)} == {
        *("loss", "val_loss", "loss/training=2", "val_loss/training=2"),
    }
