"""Lines of steps that name no epoch, at most one between two lines of epochs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

N = range(1, 7)

CASES: dict[str, tuple[str, dict[str, list[int]]]] = {
    "the same step above the line of each epoch": (
        "".join(f"Iter 40: loss 2.{n}\nEpoch {n}: train loss 1.{n}, val acc 0.{n}\n" for n in N),
        {
            "loss": [40 * n for n in N],
            "train loss": [40 * n for n in N],
            "val acc": [40 * n for n in N],
        },
    ),
    "the first batch above the line of each epoch, with means and a result below": (
        "".join(f"batch 0 loss 2.{n}\nEpoch {n} - loss 1.{n}\ntest acc: 0.{n}\n" for n in N),
        {"loss": [n - 1 for n in N], "epoch/loss": [n - 1 for n in N], "test acc": [n - 1 for n in N]},
    ),
    "a step with its total above the line of each epoch": (
        "".join(f"[Batch 30/50] loss 2.{n}\nEpoch {n}/6 done, val_loss 1.{n}\n" for n in N),
        {"loss": [50 * n - 20 for n in N], "val_loss": [50 * n - 20 for n in N]},
    ),
    "steps that go on in turn with lines of epochs": (
        "".join(f"Epoch {n}: val_loss 1.{n}\nStep {300 * n}: d_loss 2.{n}\n" for n in N),
        {"val_loss": [1, *(300 * n for n in range(1, 6))], "d_loss": [300 * n for n in N]},
    ),
    "steps that are rarer than epochs": (
        "".join(
            f"Epoch {n}/12 | val_loss: 1.{n:02}\n" + f"Iter {n * 25}: loss 2.{n:02}\n" * (n % 4 == 0)
            for n in range(1, 13)
        ),
        {"val_loss": [*range(1, 13)], "loss": [4, 8, 12]},
    ),
    "a single step behind the second of many epochs, with the same names": (
        "".join(f"Epoch {n}, loss 1.{n}, acc 0.{n}\n" + "Iter 100, loss 2.5\n" * (n == 2) for n in N),
        {"loss": [*N], "acc": [*N], "loss/repeat=2": [2]},
    ),
    "a step below the headings of some epochs": (
        "".join(f"Epoch {n}\ntrain loss: 1.{n}\n" + f"Iter {n * 20}: mae 2.{n}\n" * (n % 3 == 0) for n in N),
        {"train loss": [*N], "mae": [3, 6]},
    ),
    "the first step above all epochs": (
        "Iter 0: loss 3.5\n" + "".join(f"Epoch {n}: val_loss 1.{n}\n" for n in N),
        {"loss": [0], "val_loss": [*N]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_steps_alone_are_on_one_axis_with_lines_of_epochs(tmp_path: Path, reading: Any, case: str) -> None:
    text, expected = CASES[case]
    run = read_log(tmp_path, text)
    assert steps_of(run) == expected
    assert run.attempts == 1
    content = text.encode()
    chosen, complete = reading.format_of("train.log", content), reading.read_complete("train.log", content)
    sizes = [*range(0, len(content), 11), len(content)]
    assert reading.read_growing("train.log", content, sizes, chosen=chosen).points == complete.points
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


def test_more_steps_behind_lines_of_epochs_are_at_their_own_numbers(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: val_loss 1.{n}\n" for n in N)
    text += "".join(f"Iter {n}: loss 2.{n:03}\n" for n in range(10, 200, 10))
    assert steps_of(read_log(tmp_path, text)) == {"val_loss": [*N], "loss": [6, *range(20, 200, 10)]}
