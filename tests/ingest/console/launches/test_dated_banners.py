"""The first line of a text with another date, above epochs that start again, begins an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log


def _epochs(last: int) -> str:
    return "".join(f"epoch {n}: train loss {2 / n:.4f}, accuracy 0.{60 + n}\n" for n in range(1, last + 1))


@pytest.mark.parametrize(
    ("banner", "first", "second"),
    [
        ("Finetuning starting on: {}\n", "Mon Mar  3 10:11:12 2025", "Tue Mar  4 12:41:02 2025"),
        ("Encoder is fitted ({})\n", "Monday, 3 March 2025 10:11", "Sunday, 6 April 2025 18:20"),
        ("### Session opened {} ###\n", "03 Mar 2025 10:11:12", "01st May 2025 09:00:01"),
        ("===== job of {} =====\n", "2025-03-03 10:11", "2025-03-04 09:52"),
        ("{}\n", "Mon Mar  3 10:11:12 2025", "Wed Apr  2 10:11:12 2025"),
    ],
)
def test_a_banner_with_another_date_begins_an_attempt(
    tmp_path: Path, banner: str, first: str, second: str
) -> None:
    run = read_log(tmp_path, banner.format(first) + _epochs(5) + banner.format(second) + _epochs(8))
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {()}
    (loss,) = (series for key, series in run.data.series.items() if key.metric == "train loss")
    assert loss.step.tolist() == [*range(1, 6), *range(1, 9)]


def test_the_date_of_the_next_day_numbers_no_training(tmp_path: Path) -> None:
    banners = [f"Sweep starts {day} 10:11:12 2025\n" for day in ("Mon Mar  3", "Tue Mar  4", "Wed Mar  5")]
    assert read_log(tmp_path, "".join(banner + _epochs(4) for banner in banners)).attempts == 3


@pytest.mark.parametrize("last", [1, 3])
def test_a_launch_that_ended_within_its_first_epoch_is_an_attempt_below_a_dated_banner(
    tmp_path: Path, last: int
) -> None:
    """Without it the second pass of the batches is of an evaluation."""

    def batches(epochs: int) -> str:
        rows = [(epoch, batch) for epoch in range(epochs) for batch in range(0, 50, 10)]
        return "".join(f"Epoch: [{e}][{b}/50] Loss {2 / (1 + e + b / 50):.4f}\n" for e, b in rows)

    banner = "Finetuning starting on: {} 10:11:12 2025\n"
    run = read_log(
        tmp_path, banner.format("Mon Mar  3") + batches(1) + banner.format("Fri Apr  4") + batches(last)
    )
    assert run.attempts == 2
    assert not any(key.metric.startswith("eval/") for key in run.data.series)


def test_dated_trainings_below_opening_lines_are_of_one_launch(tmp_path: Path) -> None:
    opening = "Using cuda:0\nLoading data from shards/a\n"
    begins = [f"Training begins {day} 10:11:12 2025\n" for day in ("Mon Mar  3", "Tue Apr  1")]
    run = read_log(tmp_path, opening + "".join(begin + _epochs(4) for begin in begins))
    assert run.attempts == 1
    assert {key.labels for key in run.data.series} == {(), (("training", "2"),)}


def test_dated_lines_that_count_models_begin_no_attempts(tmp_path: Path) -> None:
    models = [f"Model {n} is fitted, Mon Mar  3 1{n}:11:12 2025\n" for n in (1, 2, 3)]
    assert read_log(tmp_path, "".join(model + _epochs(4) for model in models)).attempts == 1
