"""Two bars of an epoch in the same words: the second one is of an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log
from tests.support.progress_bars import bar

_BATCHES = 40


def _pass(description: str, total: int, loss: float, *, every: int = 10) -> str:
    counts = [*range(every, total, every), total]
    return "".join(bar(at, total, description, f"loss={loss + at / 1000:.3f}") for at in counts) + "\n"


@pytest.mark.parametrize("total", [12, _BATCHES, 60], ids=["shorter", "as long", "longer"])
@pytest.mark.parametrize("words", ["Epoch {}/3", "Epoch {}", "[{}/3]"])
def test_a_bar_behind_that_of_its_epoch_is_of_an_evaluation(tmp_path: Path, words: str, total: int) -> None:
    text = "".join(
        _pass(words.format(epoch), _BATCHES, 2 - epoch / 4)
        + _pass(words.format(epoch), total, 3 - epoch / 4)
        + f"epoch {epoch}: val loss {3 - epoch / 4:.3f}\n"
        for epoch in (1, 2, 3)
    )
    ends = [40, 80, 120]
    assert_steps(tmp_path, text, {"loss": [*range(10, 121, 10)], "eval/loss": ends, "val loss": ends})


def test_ends_of_two_bars_of_an_epoch(tmp_path: Path) -> None:
    text = "".join(
        bar(total, total, f"Epoch {epoch}/3", f"loss={2.5 + shift / epoch:.2f}").lstrip() + "\n"
        for epoch in (1, 2, 3)
        for total, shift in ((_BATCHES, 0.1), (8, 0.4))
    )
    assert_steps(tmp_path, text, {"loss": [40, 80, 120], "eval/loss": [40, 80, 120]})


def test_processes_draw_the_same_bar(tmp_path: Path) -> None:
    text = "".join(
        bar(at, _BATCHES + rank, f"Epoch {epoch}", f"loss={1 + at / 1000 + rank / 10:.3f}") + "\n"
        for epoch in (1, 2, 3)
        for at in range(10, _BATCHES + 1, 10)
        for rank in (0, 1)
    )
    assert not any("eval" in key.metric for key in read_log(tmp_path, text).data.series)


def test_trainings_of_one_epoch_follow_one_another(tmp_path: Path) -> None:
    text = "".join(_pass("Epoch 1/1", _BATCHES, 2 - fold / 4) for fold in (1, 2, 3))
    assert not any("eval" in key.metric for key in read_log(tmp_path, text).data.series)
