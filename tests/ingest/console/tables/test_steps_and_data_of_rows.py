"""Tables of any form say in the same way which column counts, and of which data a row is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps, read_log, steps_of

EPOCHS = (1, 2, 3)
FORMS = {
    "csv": ("{}\n", ",", "log.csv"),
    "blanks": ("{}\n", "   ", "train.log"),
    "tabs": ("{}\n", "\t", "train.log"),
    "cells": ("| {} |\n", " | ", "train.log"),
}

form = pytest.mark.parametrize("form", FORMS)


def table(form: str, *rows: tuple[object, ...]) -> tuple[str, str]:
    """The text of a table, and a name for its file."""
    line, between, name = FORMS[form]
    return "".join(line.format(between.join(map(str, row))) for row in rows), name


@form
@pytest.mark.parametrize("column", ["Phase", "Stage", "Mode", "Split", "Set", "Subset", "Type"])
@pytest.mark.parametrize("data", ["val", "Valid", "test", "dev"])
def test_rows_of_an_evaluation_are_named_after_its_data(
    form: str, column: str, data: str, tmp_path: Path
) -> None:
    rows = [(n, word, f"{n}.{part}") for n in EPOCHS for part, word in enumerate(("train", data))]
    run = read_log(tmp_path, *table(form, ("Epoch", column, "Loss"), *rows))
    assert (run.attempts, run.unreadable) == (1, [])
    assert steps_of(run) == {"Loss": [*EPOCHS], f"{data.lower()}/Loss": [*EPOCHS]}


@form
@pytest.mark.parametrize("column", ["Batch", "Iter", "Step", "Iterations"])
@pytest.mark.parametrize("last", [401, 1])
def test_counts_that_begin_anew_with_each_epoch_go_on(
    form: str, column: str, last: int, tmp_path: Path
) -> None:
    batches = [*range(1, last + 1, 100)]
    rows = [(n, batch, f"{n}.{batch}") for n in EPOCHS for batch in batches]
    run = read_log(tmp_path, *table(form, ("Epoch", column, "Loss"), *rows))
    assert run.attempts == 1
    assert steps_of(run)["Loss"] == [n * last + batch for n in range(3) for batch in batches]


@form
@pytest.mark.parametrize("column", ["Batch", "Iter", "Iterations"])
def test_batches_of_an_evaluation_are_at_the_last_step_of_the_training(
    form: str, column: str, tmp_path: Path
) -> None:
    rows = [
        (n, data, batch, f"{n}.{batch}")
        for n in EPOCHS
        for data, batches in (("train", (1, 101, 201)), ("valid", (1, 101)))
        for batch in batches
    ]
    run = read_log(tmp_path, *table(form, ("Epoch", "Stage", column, "Loss"), *rows))
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["Loss"] == [1, 101, 201, 202, 302, 402, 403, 503, 603]
    assert steps["valid/Loss"] == [201, 402, 603]


@form
def test_steps_that_go_on_through_all_epochs_are_those_of_an_evaluation_as_well(
    form: str, tmp_path: Path
) -> None:
    rows = [
        (n, step, data, f"{n}.{step}")
        for n in EPOCHS
        for data, parts in (("train", (5, 10)), ("val", (12,)))
        for step in (20 * n + part for part in parts)
    ]
    run = read_log(tmp_path, *table(form, ("epoch", "step", "split", "loss"), *rows))
    assert run.attempts == 1
    steps = steps_of(run)
    assert (steps["loss"], steps["val/loss"]) == ([25, 30, 45, 50, 65, 70], [32, 52, 72])


@form
def test_a_table_of_evaluations_alone_counts_their_batches(form: str, tmp_path: Path) -> None:
    rows = [(n, "test", batch, f"{n}.{batch}") for n in EPOCHS for batch in (1, 2)]
    run = read_log(tmp_path, *table(form, ("epoch", "split", "batch", "loss"), *rows))
    assert (run.attempts, steps_of(run)["test/loss"]) == (1, [1, 2, 3, 4, 5, 6])


@form
def test_other_words_in_a_column_of_stages_name_no_data(form: str, tmp_path: Path) -> None:
    rows = [(n, "warmup" if n == 1 else "main", f"{n}.5") for n in EPOCHS]
    run = read_log(tmp_path, *table(form, ("epoch", "stage", "loss"), *rows))
    assert steps_of(run) == {"loss": [*EPOCHS]}


@form
@pytest.mark.parametrize("column", ["data", "subset"])
def test_a_column_of_data_may_name_no_part_of_it(form: str, column: str, tmp_path: Path) -> None:
    rows = [("base", "flowers-17", n, f"{n}.5") for n in EPOCHS]
    run = read_log(tmp_path, *table(form, ("model", column, "epoch", "loss"), *rows))
    assert steps_of(run) == {"loss": [*EPOCHS]}


@form
def test_a_data_set_is_a_label(form: str, tmp_path: Path) -> None:
    rows = [("base", data, n, f"{n}.5") for n in EPOCHS for data in ("flowers-17", "cars")]
    run = read_log(tmp_path, *table(form, ("model", "dataset", "epoch", "loss"), *rows))
    assert steps_of(run) == {"loss/dataset=flowers-17": [*EPOCHS], "loss/dataset=cars": [*EPOCHS]}


@form
def test_another_launch_begins_where_the_epochs_do(form: str, tmp_path: Path) -> None:
    rows = [(n, batch, f"{n}.{batch}") for n in EPOCHS for batch in (1, 51)]
    run = read_log(tmp_path, *table(form, ("epoch", "iter", "loss"), *rows, *rows[:3]))
    assert run.attempts == 2
    assert len(steps_of(run)["loss"]) == 9


@pytest.mark.parametrize("form", ["blanks", "tabs", "cells"])
def test_the_means_of_an_epoch_are_at_its_last_batch(form: str, tmp_path: Path) -> None:
    rows = []
    for n in EPOCHS:
        rows += [(n, batch, f"{n}.{batch}", "-") for batch in (20, 40)]
        rows.append((n, "-", f"{n}.5", f"{n}.7"))
    run = read_log(tmp_path, *table(form, ("Epoch", "Batch", "Train_Loss", "Val_Loss"), *rows))
    assert run.attempts == 1
    steps = steps_of(run)
    assert steps["Train_Loss"] == [20, 40, 60, 80, 100, 120]
    assert steps["epoch/Train_Loss"] == steps["Val_Loss"] == [40, 80, 120]


@pytest.mark.parametrize("form", ["blanks", "cells"])
def test_names_of_other_columns_than_those_below_are_said(form: str, tmp_path: Path) -> None:
    rows = [(n, f"{n}.5", "0.7", "9.5", "8") for n in range(9)]
    run = read_log(tmp_path, *table(form, ("Epoch", "Loss", "Acc"), *rows))
    assert run.points == 0
    assert ["3 columns as in the names above (Epoch, Loss, Acc), found 5" in u.reason for u in run.unreadable]
    assert len(run.unreadable) == 1


@pytest.mark.parametrize("before", ["", "2026-01-02 10:00:00,123 - utils - INFO - "])
@pytest.mark.parametrize("behind", ['{{"acc": [0.{0}, 0.400]}}', ' {{"acc": 0.{0}}}', "  {{}}"])
@pytest.mark.parametrize("time", ["0:01/ 5:00", "0:01/5:00"])
def test_an_object_and_a_time_with_blanks_are_a_cell_each(
    before: str, behind: str, time: str, tmp_path: Path
) -> None:
    text = before + "Epoch  Stage  Iterations  Time Usage    Loss    Output Information\n"
    for n in EPOCHS:
        for data, batches in (("train", (1, 201)), ("valid", (100,))):
            for batch in batches:
                text += f"{before}{n}      {data}  {batch}/300    {time}    2.{n}{behind.format(n)}\n"
    run = read_log(tmp_path, text)
    assert (run.attempts, run.unreadable) == (1, [])
    assert steps_of(run) == {"Loss": [1, 201, 202, 402, 403, 603], "valid/Loss": [201, 402, 603]}


@pytest.mark.parametrize("first", [0.0, 0.001, 0.25])
def test_rows_at_parts_of_epochs_are_numbered(first: float, tmp_path: Path) -> None:
    epochs = [first + row / 4 for row in range(9)]
    text = "Epoch\tLoss\n" + "".join(f"{epoch:.4f}\t{2 - epoch / 9:.3f}\n" for epoch in epochs)
    run = read_log(tmp_path, text)
    begin = int(first > 0)
    assert run.attempts == 1
    assert steps_of(run) == {"Loss": [*range(begin, begin + 9)], "epoch": [*range(1, begin + 9)]}
    resumed = "".join(f"{epoch:.4f}\t{2 - epoch / 9:.3f}\n" for epoch in epochs[4:])
    run = read_log(tmp_path, text + resumed)
    assert run.attempts == 2
    assert steps_of(run)["Loss"] == [*range(begin, begin + 9), *range(begin + 4, begin + 9)]


def _table_with_a_late_step(columns: int, steps: range) -> tuple[str, list[str]]:
    """The names of columns in the order of the alphabet, among them the step, and rows of numbers below."""
    names = [*(f"acc_{number}" for number in range(columns)), "epoch", "loss", "step", "time"]
    rows = [
        [
            *(f"0.{step}{number}" for number in range(columns)),
            f"{step / 7:.8f}",
            f"1.{step}",
            f"{step}",
            "0.25",
        ]
        for step in steps
    ]
    head, *lines = ("  ".join(cell.ljust(12) for cell in row) + "\n" for row in (names, *rows))
    return head, lines


def test_a_column_that_counts_may_be_behind_others(tmp_path: Path) -> None:
    head, rows = _table_with_a_late_step(4, range(100, 700, 100))
    setup = "Environment:\n\tPython: 3.11.2\nArgs:\n\tseed: 0\n\tbatch_size: 16\nHParams:\n\tlr: 5e-05\n"
    names = ("acc_0", "acc_1", "acc_2", "acc_3", "loss", "time")
    assert_steps(tmp_path, setup + head + "".join(rows), {name: [*range(100, 700, 100)] for name in names})


def test_rows_are_of_an_earlier_table_of_their_width(tmp_path: Path) -> None:
    (wide, wide_rows), (narrow, narrow_rows) = (
        _table_with_a_late_step(columns, range(begin, begin + 800, 200))
        for columns, begin in ((4, 100), (3, 200))
    )
    in_turn = "".join(f"{one}{other}" for one, other in zip(wide_rows[1:], narrow_rows[1:], strict=True))
    text = wide + wide_rows[0] + narrow + narrow_rows[0] + in_turn
    both = [*range(100, 900, 100)]
    assert_steps(
        tmp_path,
        text,
        {"acc_3": both[::2], **{name: both for name in ("acc_0", "acc_1", "acc_2", "loss", "time")}},
    )


_ROWS_OF_DATA = {
    "in place of the count": "Val:   0.6{n}   0.3{n}",
    "in place of the count, without a sign": "    val  0.6{n}  0.3{n}",
    "behind single blanks": "Val: 0.6{n} 0.3{n}",
    "before the count": "Val {n} 0.6{n} 0.3{n}",
    "before the count, in a column": "Val   {n}   0.6{n}   0.3{n}",
}


@pytest.mark.parametrize("heading", ["Epoch     Loss      Acc", "Epoch Loss Acc"])
@pytest.mark.parametrize("row", _ROWS_OF_DATA)
def test_rows_that_begin_with_their_data_are_of_it(tmp_path: Path, heading: str, row: str) -> None:
    lines = [f"{n}    1.{n}   0.{n}\n" + _ROWS_OF_DATA[row].format(n=n) + "\n" for n in range(1, 7)]
    run = read_log(tmp_path, f"{heading}\n" + "".join(lines))
    names = ("Loss", "Acc", "val/Loss", "val/Acc")
    assert steps_of(run) == {name: [*range(1, 7)] for name in names}


def test_a_row_of_data_above_all_others_is_of_no_step(tmp_path: Path) -> None:
    text = "epoch     loss      acc\nval   2.5   0.1\n" + "".join(
        f"{n}   1.{n}   0.{n}\n" for n in range(1, 5)
    )
    assert steps_of(read_log(tmp_path, text)) == {"loss": [1, 2, 3, 4], "acc": [1, 2, 3, 4]}
