"""A note by hand above a log: a record in a comment that is about what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

N = range(1, 9)
EPOCHS = "Using device: cpu\n" + "".join(f"Epoch {n}/8 loss: 2.{n}\n" for n in N)
STEPS = "".join(f"step {100 * n} loss 2.{n} acc 0.{n}\n" for n in N)


@pytest.mark.parametrize(
    ("note", "text", "names"),
    [
        ("# Epoch 7/8 loss: 0.0461", EPOCHS, ["loss"]),
        ("# 2026-05-01: Epoch 7/8 loss: 0.0461", EPOCHS, ["loss"]),
        ("// best so far, step 700 loss 0.0461", STEPS, ["loss", "acc"]),
    ],
)
def test_a_note_beyond_what_follows_is_no_record(
    tmp_path: Path, note: str, text: str, names: list[str]
) -> None:
    unit = 1 if text is EPOCHS else 100
    assert_steps(tmp_path, f"{note}\n{text}", {name: [unit * n for n in N] for name in names})


def test_records_that_are_all_in_comments_are_read(tmp_path: Path) -> None:
    text = "".join(f"# step {100 * n} loss: 2.{n}\n" for n in N)
    assert_steps(tmp_path, text, {"loss": [100 * n for n in N]})


def test_records_that_go_on_from_a_comment_are_read(tmp_path: Path) -> None:
    text = "# Epoch 3/8 loss: 2.5\n" + "".join(f"Epoch {n}/8 loss: 2.{n}\n" for n in range(4, 9))
    assert_steps(tmp_path, text, {"loss": [*range(3, 9)]})
