"""An evaluation that a program prints behind the last bar of an epoch, in the same line or the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EVALUATIONS = {
    "eval/mAP": "Eval: mAP 0.4{e}",
    "Validation loss": "Validation loss: 1.{e}2",
    "AUC": "AUC=0.7{e}5",
    "mAP@0.5": "mAP@0.5: 0.3{e}",
}
BETWEEN = {"nothing": "", "a blank": " ", "blanks": "   ", "a new line": "\n", "the start of the line": "\r"}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_behind_the_bar_of_tqdm_is_at_its_end(tmp_path: Path, name: str, between: str) -> None:
    text = ""
    for e in (1, 2, 3):
        for at in range(0, 101, 25):
            bar = f"{at:3d}%|{'#' * (at // 10):10}| {at}/100 [00:0{e}<00:05, 9.9it/s"
            text += f"\rEpoch {e}: {bar}, loss={2 / (e + at):.3f}]"
        text += BETWEEN[between] + EVALUATIONS[name].format(e=e) + "\n"
    steps = steps_of(read_log(tmp_path, text))
    assert steps[name] == [100, 200, 300]
    assert steps["loss"] == [*range(0, 301, 25)]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_behind_the_bar_of_keras_is_of_its_epoch(
    tmp_path: Path, name: str, between: str
) -> None:
    text = ""
    for e in (1, 2, 3):
        text += f"Epoch {e}/3\n"
        for at in (25, 50, 75, 100):
            text += f"\r{at}/100 [{'=' * (at // 10)}>] - 1s 9ms/step - loss: {2 / (e + at):.4f}"
        text += BETWEEN[between] + EVALUATIONS[name].format(e=e) + "\n"
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {"loss": [0, 1, 2], name: [0, 1, 2]}
