"""Launches that are shown by the settings that a program prints one below another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

SETTINGS: dict[str, str] = {
    "names and numbers": "lr: 0.01\nbatch_size: 32\nnum_epochs: 60\n",
    "options": "--lr 0.01\n--bs 32\n--depth 4\n",
    "below a heading": "Options:\n\twidth = 64\n\tdropout = 0.1\n\tarch = gru\n-----\n",
}
RECORDS = {
    "epochs": "Epoch {0}: train loss 1.{0:02}, val acc 0.{0:02}\n",
    "steps": "step {0}0 | mae 1.{0:02}\n",
}


def _records(form: str, first: int, last: int) -> str:
    return "".join(RECORDS[form].format(n) for n in range(first, last + 1))


@pytest.mark.parametrize("form", RECORDS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_that_all_come_again_show_a_launch_whose_steps_go_on(
    tmp_path: Path, reading: Any, settings: str, form: str
) -> None:
    opening = SETTINGS[settings]
    text = "".join(opening + _records(form, first, first + 7) for first in (1, 9, 17))
    assert read_log(tmp_path, text).attempts == 3
    content = text.encode()
    chosen, complete = reading.format_of("train.log", content), reading.read_complete("train.log", content)
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


@pytest.mark.parametrize("form", RECORDS)
def test_some_of_the_settings_or_others_show_no_launch(tmp_path: Path, form: str) -> None:
    opening = SETTINGS["names and numbers"]
    for again in ("lr: 0.01\nbatch_size: 32\n", "lr: 0.01\nbatch_size: 32\nnum_epochs: 600\n"):
        text = opening + _records(form, 1, 8) + again + _records(form, 9, 16)
        assert read_log(tmp_path, text).attempts == 1


@pytest.mark.parametrize("form", RECORDS)
def test_settings_that_come_with_each_record_show_none(tmp_path: Path, form: str) -> None:
    text = "".join(f"gamma: 0.99\nclip: 0.2\nlr: 0.001\n{RECORDS[form].format(n)}" for n in range(1, 16))
    assert read_log(tmp_path, text).attempts == 1


def test_a_learning_rate_below_other_settings_of_a_later_launch_is_no_value(tmp_path: Path) -> None:
    settings = "hidden_dim : 256\nDropout : 0.5\nbatch_size : 64\nlr         : 0.0{n}\nclip : 5\n"
    launches = "".join(
        "".join(
            f"2024-05-0{n} 10:00:00,000 - {source} - INFO - {line}\n"
            for line in (settings + "Model on cuda, {n} layers\n").format(n=n).splitlines()
        )
        + "".join(f"Iter: {100 * k} | Train Loss: 2.{k} | Dev Loss: 3.{k}\n" for k in range(5 + n))
        for n, source in zip(
            range(1, 6), ("run", "run", "setup - show", "setup - show", "setup - show"), strict=True
        )
    )
    run = read_log(tmp_path, launches)
    assert run.attempts == 5
    assert {*steps_of(run)} == {"Train Loss", "Dev Loss"}


def test_a_learning_rate_that_is_printed_with_each_epoch_is_a_value(tmp_path: Path) -> None:
    text = "batch_size: 64\ndropout: 0.5\nlr: 0.1\n" + "".join(
        f"Epoch {n}\nlr: 0.0{n}\ntrain loss: 2.{n}\n" for n in range(1, 6)
    )
    assert steps_of(read_log(tmp_path, text))["lr"] == [1, 2, 3, 4, 5]
