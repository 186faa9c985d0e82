"""Values in any form that programs print, wherever values are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.log_runs import read_log

NUMBERS = {
    "1,204.5": 1204.5,
    "12,345": 12345.0,
    "-0.81": -0.81,
    ".75": 0.75,
    "-.25": -0.25,
    "1.3e-05": 1.3e-05,
    "2e-3": 0.002,
    "inf": float("inf"),
    "-inf": float("-inf"),
    "nan": float("nan"),
    "61.5%": 61.5,
}
FORMS: dict[str, tuple[str, Callable[[int, str], str]]] = {
    "line": ("train.log", lambda n, number: f"step {n} loss {number} acc {number}\n"),
    "block": ("train.log", lambda n, number: f"Epoch {n}\nloss {number}\nacc: {number}\n"),
    "bar": (
        "train.log",
        lambda n, number: f"step {n}: 100%|####| 1/1 [00:01<00:00, 2.1it/s, loss={number}, acc={number}]\n",
    ),
    "keras": (
        "train.log",
        lambda n, number: f"Epoch {n}/9\n8/8 [====] - 1s 9ms/step - loss: {number} - acc: {number}\n",
    ),
    "columns": ("train.log", lambda n, number: "step loss acc\n" * (n == 1) + f"{n} {number} {number}\n"),
    "cells": (
        "train.log",
        lambda n, number: "| step | loss | acc |\n" * (n == 1) + f"| {n} | {number} | {number} |\n",
    ),
    "csv": ("log.csv", lambda n, number: "step,loss,acc\n" * (n == 1) + f'{n},"{number}","{number}"\n'),
    "json": (
        "log.jsonl",
        lambda n, number: json.dumps({"step": n, "loss": number, "acc": number}) + "\n",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_value_is_read_in_each_form_that_numbers_have(form: str, number: str, tmp_path: Path) -> None:
    name, line = FORMS[form]
    numbers = ["0.9", number, "0.7", "0.6", "0.5"]
    text = "".join(line(n, each) for n, each in enumerate(numbers, start=1))
    series = {key.metric: points.value for key, points in read_log(tmp_path, text, name).data.series.items()}
    expected = [0.9, NUMBERS[number], 0.7, 0.6, 0.5]
    assert {*series} == {"loss", "acc"}
    np.testing.assert_array_equal(series["loss"], expected)
    np.testing.assert_array_equal(series["acc"], expected)


@pytest.mark.parametrize("number", ["-0.8125", "-inf", "-.5"])
def test_bars_of_losses_below_zero_alone_are_read(number: str, tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n}/3\n8/8 [====] - 1s 9ms/step - loss: {number} - val_loss: {number}\n" for n in (1, 2, 3)
    )
    assert {key.metric: len(points.step) for key, points in read_log(tmp_path, text).data.series.items()} == {
        "loss": 3,
        "val_loss": 3,
    }


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("reward.txt", "900\n950\n1.1k\n2.5k\n"),
        ("log.txt", "".join(f"{2 - n / 16:.3f} {n / 2:.2f}k\n" for n in range(1, 17))),
        ("log.csv", "".join(f"{n},{2 - n / 16:.3f},{n / 2:.2f}k\n" for n in range(1, 17))),
    ],
)
def test_numbers_of_thousands_are_read_in_rows_without_names(tmp_path: Path, name: str, rows: str) -> None:
    run = read_log(tmp_path, rows, name)
    assert max(series.value.max() for series in run.data.series.values()) >= 2500
    assert len({len(series.step) for series in run.data.series.values()}) == 1
