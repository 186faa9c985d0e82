"""The data that a line names before a list of names, or behind a statistic, is that of all its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Val loss/acc: 1.{0}/0.{0}", ["Val loss", "Val acc"]),
        ("Test [loss, acc]: [1.{0}, 0.{0}]", ["Test loss", "Test acc"]),
        (
            "Train loss/f1: 1.{0}/0.{0} Dev loss/f1: 2.{0}/0.{0}",
            ["Train loss", "Train f1", "Dev loss", "Dev f1"],
        ),
        ("average val loss: 1.{0}, acc: 0.{0}", ["average val loss", "val acc"]),
        ("Overall test error 1.{0} recall 0.{0}", ["Overall test error", "test recall"]),
        ("Train: 1.{0}, 0.{0}", ["Train", "Train 2"]),
        ("loss 3.{0}\nVal 1.{0} 0.{0}", ["loss", "Val", "Val 2"]),
    ],
)
def test_the_data_before_a_list_of_names_or_behind_a_statistic_is_that_of_all_its_numbers(
    tmp_path: Path, line: str, names: list[str]
) -> None:
    text = "".join(f"Epoch {n}\n{line.format(n)}\n" for n in range(1, 5))
    assert steps_of(read_log(tmp_path, text)) == {name: [1, 2, 3, 4] for name in names}


@pytest.mark.parametrize(
    "form", ["train, val loss: {}, {}", "train & val loss: {} & {}", "train and val loss: {} / {}"]
)
def test_two_words_for_data_may_be_before_what_both_have(form: str, tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} {form.format(f'1.{n}', f'2.{n}')}\n" for n in range(1, 7))
    steps = [*range(1, 7)]
    assert steps_of(read_log(tmp_path, text)) == {"train loss": steps, "val loss": steps}


def test_a_line_may_have_an_epoch_before_the_values_of_each_data(tmp_path: Path) -> None:
    text = "".join(f"train epoch:{n} loss:1.{n} test epoch:{n} loss:2.{n}\n" for n in range(1, 7))
    steps = [*range(1, 7)]
    assert steps_of(read_log(tmp_path, text)) == {"loss": steps, "test/loss": steps}


@pytest.mark.parametrize(
    "line",
    [
        "epoch {0} | loss 0.{0}2 (train), 0.{0}3 (dev) | error 0.{0}4 (train), 0.{0}5 (dev) | tt 0.2min",
        "Epoch {0}/9: loss 0.{0}2 (train) loss: 0.{0}3 (dev), error 5{0}.4% (train) / 5{0}.5% (dev), tt 0.2",
    ],
)
def test_data_in_brackets_behind_numbers_are_of_these(tmp_path: Path, line: str) -> None:
    text = "".join(f"{line.format(n)}\nNew best\n" for n in range(1, 5))
    names = ("train loss", "dev loss", "train error", "dev error", "tt")
    assert steps_of(read_log(tmp_path, text)) == {name: [1, 2, 3, 4] for name in names}


def test_data_in_brackets_before_their_numbers_are_of_the_next_ones(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss 0.{n}2 (val) 0.{n}3 (test) 0.{n}4\n" for n in range(1, 5))
    assert "val loss" not in steps_of(read_log(tmp_path, text))
