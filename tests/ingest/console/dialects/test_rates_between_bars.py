"""Lines of nothing but a learning rate between bars: of the training that continues, or of the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of
from tests.support.progress_bars import bar

EPOCHS = range(1, 5)


def _bars(number: int, description: str) -> str:
    return "".join(
        "\r" + bar(at, 60, description.format(number), f", loss={3 / (number + at / 60):.3f}")
        for at in (0, 20, 40, 60)
    )


@pytest.mark.parametrize(
    ("heading", "description"),
    [("Epoch {}/9\n------\n", "Training"), ("", "Epoch {}/9"), ("Epoch {}/9\n", "")],
    ids=["heading", "bar with an epoch", "bar without a name"],
)
def test_a_rate_between_bars_of_a_training_begins_no_other_one(
    heading: str, description: str, tmp_path: Path
) -> None:
    text = "".join(
        f"{heading.format(number)}{_bars(number, description)}\n"
        f"Train Loss: 1.{number}\nLearning Rate: 0.00{9 - number}\n"
        for number in EPOCHS
    )
    ends = [60 * number for number in EPOCHS]
    assert_steps(tmp_path, text, {"loss": [*range(0, 241, 20)], "Train Loss": ends, "Learning Rate": ends})


def test_a_rate_above_the_first_epoch_of_bars_names_the_training_of_a_search(tmp_path: Path) -> None:
    text = "".join(
        f"lr = {rate}\n" + "".join(_bars(number, "Epoch {}/4") + "\n" for number in EPOCHS)
        for rate in ("0.1", "0.01")
    )
    steps = steps_of(read_log(tmp_path, text))
    assert {name: len(each) for name, each in steps.items()} == {"loss": 13, "loss/lr=0.01": 13}


def test_a_rate_below_the_first_record_names_no_other_training(tmp_path: Path) -> None:
    text = "".join(
        f"Clock: 1.2{n}\nepoch:0 || iter:{n}0 || Loss:3{9 - n}.5\n->> box loss:1{9 - n}.5\n->>lr:0.0005\n"
        for n in range(5)
    )
    steps = [10 * n for n in range(5)]
    read = steps_of(read_log(tmp_path, text))
    assert {name: read[name] for name in ("Loss", "box loss", "lr")} == dict.fromkeys(
        ("Loss", "box loss", "lr"), steps
    )
