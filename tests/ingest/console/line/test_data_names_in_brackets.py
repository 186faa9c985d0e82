"""The data of a metric in brackets behind its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3)


@pytest.mark.parametrize("brackets", ["({})", " ({})", "[{}]", " [{}]", "{{{}}}", " {{{}}}"])
@pytest.mark.parametrize("data", ["val", "Test", "dev"])
def test_metrics_are_of_the_data_in_brackets_of_any_kind(brackets: str, data: str, tmp_path: Path) -> None:
    of_training, of_data = brackets.format("train"), brackets.format(data)
    text = "".join(f"Epoch {n}: loss{of_training}=0.{n}, loss{of_data}=1.{n}\n" for n in EPOCHS)
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*EPOCHS], f"{data.lower()}/loss": [*EPOCHS]}


def test_a_word_in_square_brackets_that_is_no_data_keeps_its_place(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n}: loss[train]=0.{n}, err [px]=1.{n}\n" for n in EPOCHS)
    assert {*steps_of(read_log(tmp_path, text))} == {"loss", "err [px]"}


@pytest.mark.parametrize("brackets", ["({})", "[{}]", " {{{}}}"])
def test_metrics_below_an_epoch_are_of_the_data_in_their_brackets(brackets: str, tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}\nLoss{brackets.format('train')}: 0.{n}\nLoss{brackets.format('val')}: 1.{n}\n"
        for n in EPOCHS
    )
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*EPOCHS], "val/Loss": [*EPOCHS]}
