"""Columns of any name in CSV logs that are the same through each training, and others that are not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from holter.ingest.offline.read_run import OfflineRun, read_run
from tests.support.log_runs import steps_of


def read_table(folder: Path, header: str, rows: Iterable[tuple[object, ...]]) -> OfflineRun:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    (folder / "metrics.csv").write_text("".join(f"{line}\n" for line in lines))
    return read_run(folder / "metrics.csv")


def rows_of(*cells: object, epochs: int = 5, begin: int = 1) -> list[tuple[object, ...]]:
    return [
        (epoch, f"0.{epoch}{number}", cell)
        for number, cell in enumerate(cells)
        for epoch in range(begin, epochs + 1)
    ]


@pytest.mark.parametrize(
    ("name", "cells"),
    [("Tree", ("oak", "elm", "ash")), ("lr", (0.1, 0.01, 0.2)), ("hidden_size", (16, 32, 64))],
)
def test_a_column_of_any_name_that_is_constant_in_each_training_labels_its_rows(
    tmp_path: Path, name: str, cells: tuple[Any, ...]
) -> None:
    run = read_table(tmp_path, f"epoch,loss,{name}", rows_of(*cells))
    assert run.attempts == 1
    steps = steps_of(run)
    assert all(
        steps[f"loss{label}"] == [*range(1, 6)]
        for label in ("", *(f"/{name.lower()}={cell}" for cell in cells[1:]))
    )


@pytest.mark.parametrize(
    "rows",
    [
        rows_of("oak", "oak"),
        rows_of("2026-03-01 10:00", "2026-03-02 10:00"),
        rows_of(0.5, 0.25),
        [*rows_of("oak"), *rows_of("elm", begin=3)],
        [(epoch, f"0.{epoch}", f"row{number}") for number, epoch in enumerate((1, 2, 3, 1, 2, 3))],
    ],
)
def test_other_columns_show_no_training(tmp_path: Path, rows: list[tuple[object, ...]]) -> None:
    run = read_table(tmp_path, "epoch,loss,note", rows)
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {()}


def trainings_of(run: OfflineRun, metric: str) -> dict[str, list[int]]:
    """The attempts of a metric's points by their labels."""
    return {
        ",".join(f"{name}={value}" for name, value in key.labels): sorted({*points.attempt.tolist()})
        for key, points in run.data.series.items()
        if key.metric == metric
    }


def grid(*trainings: tuple[str, str]) -> list[tuple[object, ...]]:
    return [
        (epoch, f"0.{epoch}{number}", *cells)
        for number, cells in enumerate(trainings)
        for epoch in range(1, 6)
    ]


@pytest.mark.parametrize("header", ["method,share", "bark,share"])
def test_columns_of_texts_that_change_in_turn_label_trainings(tmp_path: Path, header: str) -> None:
    rows = grid(("oak", "even"), ("oak", "odd"), ("elm", "even"), ("elm", "odd"))
    first = header.partition(",")[0]
    assert trainings_of(read_table(tmp_path, f"epoch,loss,{header}", rows), "loss") == {
        "": [0],
        "share=odd": [0],
        f"{first}=elm": [0],
        f"{first}=elm,share=odd": [0],
    }


def test_a_column_that_changes_along_with_the_named_training_is_no_label(tmp_path: Path) -> None:
    rows = grid(("oak", "even"), ("elm", "odd"), ("ash", "prime"))
    assert {*trainings_of(read_table(tmp_path, "epoch,loss,model,share", rows), "loss")} == {
        "",
        "model=elm",
        "model=ash",
    }


def test_the_same_texts_again_are_another_attempt(tmp_path: Path) -> None:
    rows = grid(("oak", "even"), ("oak", "odd"), ("oak", "odd"))
    assert trainings_of(read_table(tmp_path, "epoch,loss,model,share", rows), "loss") == {
        "": [0],
        "share=odd": [0, 1],
    }


def test_an_infinite_value_is_no_text_that_labels_trainings(tmp_path: Path) -> None:
    rows = [*rows_of("inf"), *((epoch, "0.5", f"0.{epoch}") for epoch in range(1, 6))]
    run = read_table(tmp_path, "epoch,loss,least", rows)
    assert run.attempts == 2
    assert {key.labels for key in run.data.series} == {()}


def test_what_changes_within_a_later_training_is_of_the_same(tmp_path: Path) -> None:
    rows = [*rows_of("oak", "elm")[:8], (4, 0.7, "ash"), (5, 0.8, "elm")]
    run = read_table(tmp_path, "epoch,loss,tree", rows)
    assert run.attempts == 1
    assert steps_of(run)["loss/tree=elm"] == [*range(1, 6)]
