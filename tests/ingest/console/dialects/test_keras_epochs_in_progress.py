"""Epochs of Keras that are not complete: shown while they go on, if they take long, and if they break off."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from holter.ingest.console.console_reader import ConsoleReader
from holter.ingest.console.dialects.bars import DIALECT
from holter.ingest.offline.series_builder import SeriesBuilder
from holter.types import Batch
from tests.support.log_runs import read_log, steps_of

OPENING = """\
Using TensorFlow backend, version 2
Loading the training data from the folder
The model has 98304 parameters
"""


def bar(at: int, left: str, loss: float) -> str:
    share = 30 * at // 800
    return f"\r{at:3d}/800 [{'=' * share}>{'.' * (29 - share)}] - ETA: {left} - loss: {loss} - acc: 0.5"


def epoch(number: int, *, left: str = "7s", complete: bool = True) -> str:
    bars = "".join(
        bar(at, left, 5.0 - number + at / 1000) for at in range(100, 800 if complete else 600, 100)
    )
    values = f"loss: {4.5 - number} - acc: 0.6 - val_loss: {4.6 - number} - val_acc: 0.4"
    end = f"\r800/800 [{'=' * 30}] - 9s 11ms/step - {values}" * complete
    return f"Epoch {number}/9\n{bars}{end}\n"


def fit(epochs: int, *, left: str = "7s") -> str:
    return "".join(epoch(number, left=left) for number in range(1, epochs + 1))


def shown_live(text: str) -> list[tuple[int, float]]:
    """The steps and losses of all points, before it is known that the text ends."""
    builder = SeriesBuilder()
    for batch in ConsoleReader(DIALECT, {}).read(io.BytesIO(text.encode())):
        assert isinstance(batch, Batch)
        builder.add("", batch)
    [losses] = [points for key, points in builder.all_points().items() if key.metric == "loss"]
    return [*zip(losses.step.tolist(), losses.value.tolist(), strict=True)]


def test_a_long_epoch_is_shown_a_few_times_while_it_goes_on() -> None:
    steps = [step for step, _ in shown_live(fit(3, left="1:02:03") + epoch(4, left="12:00", complete=False))]
    assert steps == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3]


def test_a_short_epoch_is_shown_once() -> None:
    assert shown_live(fit(3) + epoch(4, complete=False)) == [(0, 3.5), (1, 2.5), (2, 1.5)]


@pytest.mark.parametrize("left", ["7s", "1:02:03"])
def test_the_end_of_an_epoch_replaces_what_was_shown_of_it(tmp_path: Path, left: str) -> None:
    run = read_log(tmp_path, OPENING + fit(4, left=left))
    assert run.attempts == 1
    assert steps_of(run) == {name: [0, 1, 2, 3] for name in ("acc", "loss", "val_acc", "val_loss")}
    [losses] = [series.value.tolist() for key, series in run.data.series.items() if key.metric == "loss"]
    assert losses == [3.5, 2.5, 1.5, 0.5]


@pytest.mark.parametrize("left", ["7s", "1:02:03"])
def test_an_epoch_that_was_broken_off_is_shown(tmp_path: Path, left: str) -> None:
    run = read_log(tmp_path, OPENING + fit(2) + epoch(3, left=left, complete=False))
    assert run.attempts == 1
    assert steps_of(run) == {name: [0, 1, 2] for name in ("acc", "loss")} | {
        name: [0, 1] for name in ("val_acc", "val_loss")
    }


@pytest.mark.parametrize("opening", [OPENING, ""])
def test_another_launch_behind_an_epoch_that_was_broken_off(tmp_path: Path, opening: str) -> None:
    broken = fit(2) + epoch(3, left="45:00", complete=False)
    run = read_log(tmp_path, opening + broken + opening + fit(4, left="45:00"))
    assert run.attempts == 2
    assert steps_of(run)["loss"] == [0, 1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("left", ["7s", "45:00"])
def test_the_next_training_of_a_launch_may_break_off_in_its_first_epoch(tmp_path: Path, left: str) -> None:
    text = OPENING + fit(3) + "Now the other half\n" + epoch(1, left=left, complete=False)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["loss"] == [0, 1, 2]
    assert steps_of(run)["loss/training=2"] == [0]
    goes_on = read_log(tmp_path, text.rstrip("\n") + epoch(1).partition("\n")[2] + epoch(2))
    assert steps_of(goes_on)["loss/training=2"] == [0, 1]


def test_bars_of_evaluations_are_no_epochs_in_progress(tmp_path: Path) -> None:
    evaluation = "".join(bar(at, "3s", 9.5) for at in (100, 400, 700)) + "\n"
    run = read_log(tmp_path, OPENING + evaluation + fit(3) + evaluation)
    assert steps_of(run)["loss"] == [0, 1, 2]
    assert max(value for series in run.data.series.values() for value in series.value) < 5
