"""Steps that are printed as fractions without a part: `Epoch 0 step 100.0 loss: 5.2`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

WHOLE = [
    "Epoch {epoch} step {at}.0 loss: 2.{epoch}{at}\n",
    "Epoch: {epoch}, Step: {at}.0, loss: 2.{epoch}{at}\n",
    "[Epoch {epoch}/5] batch {at}.0 | loss 2.{epoch}{at}\n",
    "epoch={epoch} iter={at}.0 loss=2.{epoch}{at}\n",
]


@pytest.mark.parametrize("line", WHOLE)
def test_steps_of_an_epoch_without_a_part_count(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(epoch=epoch, at=at) for epoch in range(3) for at in (0, 20, 40))
    assert steps_of(read_log(tmp_path, text))["loss"] == [0, 20, 40, 41, 61, 81, 82, 102, 122]


MEASURED = [
    "Epoch {n} loss: 2.{n} step 1.0\n",
    "Epoch {n} lr 0.1 mean steps 112.0 loss: 2.{n}\n",
    "iter {n}, step = 1.0, loss = 2.{n}\n",
]


@pytest.mark.parametrize("line", MEASURED)
def test_other_fractions_with_such_names_are_measured(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n) for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text))["loss"] == [*range(1, 7)]


def test_places_of_absl_may_be_behind_long_numbers_of_threads(tmp_path: Path) -> None:
    lines = ["Epoch {n} loss: 2.{n}", "Evaluating on train set:", "Accuracy: 3{n}.5%"]
    lines += ["Evaluating on test set:", "Accuracy: 2{n}.5%"]
    prefix = "I0304 10:00:00.123456 140737353918272 fit.py:55] "
    text = "".join(f"{prefix}{line.format(n=n)}\n" for n in range(3) for line in lines)
    assert steps_of(read_log(tmp_path, text)) == {
        name: [0, 1, 2] for name in ("loss", "eval/train/Accuracy", "test/Accuracy")
    }
