"""Bars that count epochs around those of their batches: `Training:   2%|  | 1/50 [..., loss=0.5]`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of
from tests.support.progress_bars import bar

_BATCHES = 60
_OUTER = ["Training Progress", "Training", "Progress", ""]
_INNER = ["Epoch {}", "Batches", "Train"]


def _epochs(outer: str, inner: str, epochs: int, *, shown: int = 4) -> str:
    text, behind = "\r" + bar(0, epochs, outer), ""
    for number in range(shown):
        batches = [
            bar(at, _BATCHES, inner.format(number), f", loss={3 / (1 + number + at / _BATCHES):.3f}")
            for at in (0, 20, 40, _BATCHES)
        ]
        behind = f", loss={2 / (1 + number):.3f}, val_loss=0.{number}5"
        text += "".join(f"\n\r{each}\x1b[A" for each in batches)
        text += "".join("\r" + bar(at, epochs, outer, behind) for at in (number, number + 1))
    return text + "\n"


@pytest.mark.parametrize("epochs", [20, 500], ids=["fewer than batches", "more than batches"])
@pytest.mark.parametrize("inner", _INNER)
@pytest.mark.parametrize("outer", _OUTER)
def test_values_of_a_bar_around_others_are_at_the_ends_of_these(
    outer: str, inner: str, epochs: int, tmp_path: Path
) -> None:
    ends = [_BATCHES * number for number in range(1, 5)]
    expected = {"loss": [*range(0, 241, 20)], "epoch/loss": ends, "val_loss": ends}
    assert_steps(tmp_path, _epochs(outer, inner, epochs), expected)


def test_a_longer_bar_of_the_training_is_no_bar_around_the_one_before(tmp_path: Path) -> None:
    first = "".join("\r" + bar(at, 30, "Training A", f", loss=2.{at}") for at in range(1, 31)) + "\n"
    second = "".join("\r" + bar(at, 50, "Training B", f", loss=1.{at}") for at in range(1, 51)) + "\n"
    run = read_log(tmp_path, first + second)
    assert sum(map(len, steps_of(run).values())) == 30 + 50


def test_the_fold_of_a_bar_may_have_its_position_and_values_behind_it(tmp_path: Path) -> None:
    text = "".join(
        "".join("\r" + bar(at, 9, f"Fold {fold} | Iter {at}/9 | Loss: 1.{at}") for at in range(1, 10)) + "\n"
        for fold in (1, 2)
    )
    steps = [*range(1, 10)]
    assert_steps(tmp_path, text, {"Loss": steps, "Loss/fold=2": steps})
