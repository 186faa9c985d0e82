"""Records of a first epoch that are held back until it is known whether each is a step of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.log_runs import read_log, steps_of

LINES = 12
COUNTED: dict[str, tuple[str, str]] = {
    "lines that name their epoch": (
        "".join(f"Epoch {n} loss {3 - n}.{b:02} valid acc {b}/16\n" for n in (1, 2) for b in range(LINES)),
        "loss",
    ),
    "losses below a heading": (
        "".join(
            f"epoch {n}\n" + "".join(f"average loss: {3 - n}.{b:02}\n" for b in range(LINES)) for n in (1, 2)
        ),
        "average loss",
    ),
    "a heading above each loss": (
        "".join(f"Epoch: {n}\nloss: {3 - n}.{b:02}\n" for n in (1, 2) for b in range(LINES)),
        "loss",
    ),
    "parts of an epoch": (
        "".join(f"Epoch {n}: {b}.0% (loss={3 - n}.{b:02})\n" for n in (1, 2) for b in range(LINES)),
        "loss",
    ),
}


@pytest.mark.parametrize("case", COUNTED)
def test_each_record_of_the_first_epoch_has_its_own_step(tmp_path: Path, reading: Any, case: str) -> None:
    text, name = COUNTED[case]
    run = read_log(tmp_path, text)
    series = next(series for key, series in run.data.series.items() if key.metric == name)
    assert series.step.tolist() == [*range(1, 2 * LINES + 1)]
    assert series.value.tolist() == [float(f"{2 - n}.{b:02}") for n in (0, 1) for b in range(LINES)]
    content = text.encode()
    chosen, complete = reading.format_of("train.log", content), reading.read_complete("train.log", content)
    sizes = [*range(0, len(content), 7), len(content)]
    assert reading.read_growing("train.log", content, sizes, chosen=chosen).points == complete.points
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


def test_an_evaluation_among_the_records_of_the_first_epoch_is_at_its_place(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n} loss {n}.{b}\n" + ("val loss 0.5\n" if b % 5 == 4 else "")
        for n in (1, 2)
        for b in range(10)
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [*range(1, 21)], "val loss": [5, 10, 15, 20]}


def test_few_alike_lines_of_an_epoch_are_those_of_processes(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss {n}.{rank}\n" for n in range(1, 6) for rank in range(2))
    assert {step for steps in steps_of(read_log(tmp_path, text)).values() for step in steps} == {
        1,
        2,
        3,
        4,
        5,
    }


def test_records_of_an_epoch_that_is_not_over_are_not_lost(tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(f"Epoch 1 loss 2.{b}\n" for b in range(3)))
    assert {value for series in run.data.series.values() for value in series.value.tolist()} >= {2.2}


def test_lines_that_are_counted_are_so_in_the_next_launch(tmp_path: Path) -> None:
    launch = (
        "Loading the data of the model\nusing device cuda, seed set to 0\nstart of the training program\n"
    )
    launch += "".join(f"Epoch {n} loss {n}.{b}\n" for n in (1, 2) for b in range(10))
    run = read_log(tmp_path, launch * 2)
    assert run.attempts == 2
    assert steps_of(run) == {"loss": [*range(1, 21)] * 2}


ALIKE = "".join(f"Epoch {n} loss {n}.{b}\n" for n in (1, 2, 3) for b in range(5))


def test_three_lines_of_an_epoch_that_are_alike_are_steps_of_their_own(tmp_path: Path) -> None:
    assert steps_of(read_log(tmp_path, ALIKE)) == {"loss": [*range(1, 16)]}
    opened = read_log(tmp_path, "Training of the network starts\n" + ALIKE)
    assert steps_of(opened) == {"loss": [*range(1, 16)]}


@pytest.mark.parametrize(
    "text",
    [
        "Training of the network starts\n" * 5 + ALIKE,
        "".join(f"Epoch {n} loss {n}.5\n" for n in (1, 2, 3) for _ in range(5)),
    ],
    ids=["openings of several processes", "the same values"],
)
def test_lines_of_several_processes_are_not_counted(tmp_path: Path, text: str) -> None:
    assert {step for steps in steps_of(read_log(tmp_path, text)).values() for step in steps} == {1, 2, 3}


def timed(seconds: int, line: str = "Train Epoch: [{0}/6], Loss: {0}.{1}") -> str:
    """Two lines of each epoch so many seconds apart."""
    return "".join(
        f"2024-05-05 {clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02} {line.format(n, b)}\n"
        for n in range(1, 7)
        for b in range(2)
        for clock in [(2 * n + b) * seconds]
    )


def test_two_lines_of_an_epoch_that_are_far_apart_are_steps_of_their_own(
    tmp_path: Path, reading: Any
) -> None:
    text = timed(180)
    run = read_log(tmp_path, text)
    assert run.attempts == 1
    assert steps_of(run)["Loss"] == [*range(1, 13)]
    content = text.encode()
    complete = reading.read_complete("train.log", content)
    chosen = reading.format_of("train.log", content)
    assert reading.read_restarted("train.log", content, every=1, chosen=chosen).points == complete.points


@pytest.mark.parametrize("line", ["Train Epoch: [{0}/6], Loss: {0}.{1}", "Epoch: [{0}/6], Loss: {0}.{1}"])
@pytest.mark.parametrize("seconds", [1, 10, 60, 180])
def test_a_pause_before_the_second_record_of_a_text_begins_no_launch(
    tmp_path: Path, seconds: int, line: str
) -> None:
    assert read_log(tmp_path, timed(seconds, line)).attempts == 1
    assert read_log(tmp_path, "Namespace(lr=0.1)\nLoading the data\n" + timed(seconds, line)).attempts == 1


def test_a_launch_of_one_record_before_a_pause_is_one(tmp_path: Path) -> None:
    lines = timed(60, "Epoch: [{0}/6], Loss: {0}.5").splitlines(keepends=True)[::2]
    assert read_log(tmp_path, lines[0].replace("00:02", "00:00") + "".join(lines)).attempts == 2
