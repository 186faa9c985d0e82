"""Rows of numbers without a header below each epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3)


@pytest.mark.parametrize("heading", ["Epoch {0}\n", "Epoch {0} loss: 1.{0}\n"])
def test_numbers_of_rows_are_named_after_their_row_and_place(tmp_path: Path, heading: str) -> None:
    text = "".join(
        heading.format(n) + f"| oak | 0.{n} | 0.{n}1 |\n| elm | 0.{n}2 | 7{n}% |\n" for n in EPOCHS
    )
    run = read_log(tmp_path, text)
    rows = {name: [*EPOCHS] for name in ("oak", "oak 2", "elm", "elm 2")}
    assert steps_of(run) == rows | ({"loss": [*EPOCHS]} if "loss" in heading else {})
    assert run.attempts == 1


def test_rows_that_differ_from_epoch_to_epoch_are_not_named_so(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss: 1.{n}\n| oak{n} | 0.{n} | 0.{n}1 |\n" for n in EPOCHS)
    assert {*steps_of(read_log(tmp_path, text))} == {"loss"}
