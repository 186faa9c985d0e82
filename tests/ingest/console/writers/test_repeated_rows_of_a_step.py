"""Rows that state other values of the same names at the same step have a label of their own."""

from __future__ import annotations

import io
import json
from pathlib import Path, PurePath
from typing import Any

import pytest

from holter.ingest import formats
from holter.types import Unreadable
from tests.support.log_runs import read_log

EPISODES = "".join(
    f"global_step={step}, episodic_return={step}.{number}\n" for step in (16, 32, 48) for number in (1, 2, 3)
)
"""Three environments that end an episode at the same step each."""


def values_of(text: str, tmp_path: Path) -> dict[str, list[float]]:
    run = read_log(tmp_path, text)
    return {str(key): points.value.tolist() for key, points in run.data.series.items()}


def test_no_value_is_hidden_by_another_of_its_step(tmp_path: Path) -> None:
    assert values_of(EPISODES, tmp_path) == {
        "episodic_return": [16.1, 32.1, 48.1],
        "episodic_return{repeat=2}": [16.2, 32.2, 48.2],
        "episodic_return{repeat=3}": [16.3, 32.3, 48.3],
    }


def test_a_row_that_is_printed_twice_is_one(tmp_path: Path) -> None:
    text = "".join(f"step {step} loss {step}.5\n" * 2 for step in range(1, 6))
    assert values_of(text, tmp_path) == {"loss": [1.5, 2.5, 3.5, 4.5, 5.5]}
    text = "".join(f"step {step} loss nan acc 0.5\n" * 2 for step in range(1, 6))
    assert set(values_of(text, tmp_path)) == {"loss", "acc"}


def test_a_line_that_is_drawn_over_another_replaces_it(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"\r {epoch}/4: |{'=' * n}>{' ' * (8 - n)}| - Loss: {epoch}.{n}" for n in range(1, 9)) + "\n"
        for epoch in range(1, 5)
    )
    assert values_of(text, tmp_path) == {"Loss": [1.8, 2.8, 3.8, 4.8]}


def test_lines_that_end_as_windows_ends_them_are_not_drawn_over(tmp_path: Path) -> None:
    expected = values_of(EPISODES, tmp_path)
    assert values_of(EPISODES.replace("\n", "\r\n"), tmp_path) == expected


def test_a_step_that_an_attempt_repeats_is_its_first_one(tmp_path: Path) -> None:
    lines = [
        f"step {step} loss {step}.5\n" + f"val_acc: 0.{step}\n" * (step == 30) for step in range(10, 50, 10)
    ]
    text = "".join(lines) + "Traceback (most recent call last):\nValueError: x\n" + "".join(lines[1:])
    assert set(values_of(text, tmp_path)) == {"loss", "val_acc"}


def test_of_many_rows_of_a_step_the_last_ones_are_one_series(tmp_path: Path) -> None:
    text = "".join(
        f"global_step={step}, episodic_return={step}.{number:02}\n"
        for step in (16, 32)
        for number in range(1, 41)
    )
    values = values_of(text, tmp_path)
    assert len(values) == 32
    assert values["episodic_return{repeat=31}"] == [16.31, 32.31]
    assert values["episodic_return{repeat=32}"] == [16.4, 32.4]


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_it_is_the_same_however_the_text_arrives(size: int, end: str) -> None:
    text = EPISODES.replace("\n", end).encode()
    assert read_in_pieces(text, size) == read_in_pieces(text, len(text))


def read_in_pieces(text: bytes, size: int) -> list[tuple[str, int, float]]:
    """The points of a text, of which so many bytes more are there each time a reader goes on."""
    points, position, state = [], 0, {}
    for end in [*range(size, len(text), size), len(text)]:
        stream = io.BytesIO(text[:end])
        stream.seek(position)
        reader = formats()["key-value"].reader(PurePath("train.log"), json.loads(json.dumps(state)))
        for batch in reader.read(stream):
            assert not isinstance(batch, Unreadable)
            for column in batch.columns:
                steps = batch.steps if column.rows is None else batch.steps[column.rows]
                points += zip(
                    [str(column.key)] * len(steps), steps.tolist(), column.values.tolist(), strict=True
                )
        position, state = stream.tell(), dict(reader.state())
    return sorted(points)


@pytest.mark.parametrize("distance", [1, 3])
def test_values_of_a_line_of_another_layout_at_the_same_step_have_a_label(
    tmp_path: Path, reading: Any, *, distance: int
) -> None:
    lines = [
        line
        for n in range(1, 7)
        for line in (f"Epoch {n} lr 0.0{n} loss 2.{n}\n" * (n != 4), f"Epoch {n} loss 1.{n} acc 0.{n}\n")
    ]
    assert values_of("".join(lines), tmp_path) == {
        "lr": [0.01, 0.02, 0.03, 0.05, 0.06],
        "loss": [2.1, 2.2, 2.3, 2.5, 2.6],
        "loss{repeat=2}": [1.1, 1.2, 1.3, 1.4, 1.5, 1.6],
        "acc": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    }
    content = "".join(lines).encode()
    ends = [len("".join(lines[:end]).encode()) for end in range(1, len(lines) + 1)]
    complete = reading.read_complete("run.log", content)
    assert reading.read_growing("run.log", content, [*ends[::distance], len(content)]) == complete


def test_values_that_a_line_of_another_layout_rounds_are_the_same(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n} loss 0.12345{n} lr 0.1\nEpoch {n} loss 0.1235 acc 0.{n}\n" for n in range(1, 5)
    )
    assert set(values_of(text, tmp_path)) == {"loss", "lr", "acc"}


def test_rows_of_more_steps_have_the_plain_name_where_all_of_a_log_is_known(tmp_path: Path) -> None:
    text = "".join(
        f"iteration {step}: loss 9.{step} on held data\n" * (step % 40 == 0)
        + f"iter {step} loss 1.{step} lr 0.1\n"
        for step in range(0, 90, 10)
    )
    values = values_of(text, tmp_path)
    assert values["loss"] == [float(f"1.{step}") for step in range(0, 90, 10)]
    assert values["loss{repeat=2}"] == [9.0, 9.4, 9.8]
