"""Lines that are no records: a note by hand above a log, and lines of a program that the log quotes."""

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


@pytest.mark.parametrize(
    "quoted",
    [
        "For example:\n    def size(self, x=3):\n        return 10\n\n        # or\n        acc = 0.5\n",
        "class Rows(Data):\n    def __len__(self):\n        return 20\n    loss = 0.25\nrows = Rows()\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in main\n    loss = 0.2\nError: no\n',
    ],
)
def test_lines_of_a_program_that_a_text_quotes_are_no_records(tmp_path: Path, quoted: str) -> None:
    steps = "".join(f"Epoch 1, step {n}, loss 2.{n}\n" for n in N)
    assert_steps(tmp_path, f"Epoch 1 starts\n{quoted}{steps}", {name: [*N] for name in ("loss", "Epoch")})


@pytest.mark.parametrize(
    "function",
    [
        "matrix<T, K> &ns::Dense<8, 4>::apply(matrix<T, B> &, int) [B = 8, IC = {n}, W = 2.5]: took 15{n} ns",
        "void Pool::run(T) const [with T = float; int N = {n}; double K0 = 0.5]",
        "static int a::Norm::size(const U &) [U = double, loss = {n}.5]: starts",
    ],
)
def test_arguments_of_a_template_are_no_records(tmp_path: Path, function: str) -> None:
    text = "".join(f"{function.format(n=n)}\nstep {n} loss 2.{n} acc 0.{n}\n" for n in N)
    assert_steps(tmp_path, text, {name: [*N] for name in ("loss", "acc")})


def test_what_is_right_below_quoted_lines_is_read(tmp_path: Path) -> None:
    text = "".join(f"def size(n):\n  return {n}\nstep {n} loss 2.{n} acc 0.{n}\n" for n in N)
    assert_steps(tmp_path, text, {name: [*N] for name in ("loss", "acc")})
