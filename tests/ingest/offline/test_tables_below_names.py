"""Tables of numbers below a line of names that count nothing, with as few rows as a short training has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

NAMES = "Learning Rate\tTrain Loss\tValid Loss\tTrain Acc.\t\n"
COUNTED = NAMES.replace("Train Loss", "epoch\tTrain Loss")


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_rows_are_numbered_however_few_they_are(rows: int, tmp_path: Path) -> None:
    text = NAMES + "".join(f"0.010000\t2.{n}10000\t2.{n}50000\t0.{n}30000\t\n" for n in range(rows))
    steps = steps_of(read_log(tmp_path, text, name="log.txt"))
    expected = {name: [*range(rows)] for name in ("Learning Rate", "Train Loss", "Valid Loss", "Train Acc.")}
    assert steps == expected


@pytest.mark.parametrize("rows", [2, 5])
def test_the_numbers_may_have_other_signs_between_them_than_the_names(rows: int, tmp_path: Path) -> None:
    text = COUNTED + "".join(
        f"0.010000|{n + 1}.000000|2.{n}10000|2.{n}50000|0.{n}30000|\n" for n in range(rows)
    )
    steps = steps_of(read_log(tmp_path, text, name="log.txt"))
    assert steps["Train Loss"] == steps["Valid Loss"] == [*range(1, rows + 1)]


@pytest.mark.parametrize(
    "text",
    [
        "loss\tvalue\n0.5\t3\n",
        "Train Loss\tValid Loss\n0.5\tnone\n",
        "Train Loss\tValid Loss\n",
        "dose\tloss\tage\tsize\n1\t2\t3\t4\n",
    ],
    ids=["one metric", "a word", "no row", "mostly others"],
)
def test_a_row_below_other_names_is_no_table(text: str, tmp_path: Path) -> None:
    assert read_log(tmp_path, text, name="notes.txt").points == 0


@pytest.mark.parametrize("between", ["  ", "\t", ", "], ids=["blanks", "tabs", "commas"])
def test_a_table_below_another_one_has_its_own_names(tmp_path: Path, between: str) -> None:
    tables = [
        between.join(cells)
        for names in (("epoch", "train_loss", "val_loss"), ("epoch", "sensitivity", "hull distance"))
        for cells in (names, *((str(n), f"0.{n}5", f"0.{n}75") for n in range(4)))
    ]
    run = read_log(tmp_path, "\n".join([*tables, ""]))
    assert run.attempts == 1
    names = ("train_loss", "val_loss", "sensitivity", "hull distance")
    assert steps_of(run) == {name: [0, 1, 2, 3] for name in names}


NAMES_OF_TABLES = ("epoch", "train loss", "val loss", "val acc")
BETWEEN_NAMES = [", ", " | ", "\t", "; "]
BETWEEN_NUMBERS = [" | ", ", ", "\t", "   ", " / ", ","]


@pytest.mark.parametrize("names", BETWEEN_NAMES)
@pytest.mark.parametrize("numbers", BETWEEN_NUMBERS)
def test_names_of_words_may_have_other_signs_between_them(names: str, numbers: str, tmp_path: Path) -> None:
    rows = "".join(
        numbers.join((str(n), f"1.{9 - n}25", f"2.{9 - n}31", f"0.{n}81")) + "\n" for n in range(1, 9)
    )
    steps = steps_of(read_log(tmp_path, names.join(NAMES_OF_TABLES) + "\n" + rows))
    assert steps == {name: [*range(1, 9)] for name in NAMES_OF_TABLES[1:]}


def test_names_may_be_in_brackets_as_their_rows_are(tmp_path: Path) -> None:
    rows = "".join(f"[{n}, 1.{9 - n}25, 0.{n}81]\n" for n in range(1, 9))
    steps = steps_of(read_log(tmp_path, "Format: [epoch, train loss, val acc]\n" + rows))
    assert steps == {"train loss": [*range(1, 9)], "val acc": [*range(1, 9)]}


NAMES_AND_COUNTED_ROWS = (
    ("epoch train_loss val_loss", "Epoch {n}: 1.{n}25 2.{n}31"),
    ("step, train_loss, val_loss", "Step {n}: 1.{n}25, 2.{n}31"),
    ("[epoch] train_loss | val_loss", "[{n}] 1.{n}25 | 2.{n}31"),
    ("Epoch | train_loss | val_loss\n-----", "Epoch {n} | 1.{n}25 | 2.{n}31"),
    ("train_loss val_loss", "[{n}/20] 1.{n}25 2.{n}31"),
    ("iter: train_loss, val_loss", "{n}: 1.{n}25, 2.{n}31"),
    ("Starting\nEpoch  train_loss  val_loss", "Epoch {n}  1.{n}25  2.{n}31"),
)


@pytest.mark.parametrize(("names", "row"), NAMES_AND_COUNTED_ROWS)
def test_names_above_rows_that_begin_with_a_word_and_a_count(names: str, row: str, tmp_path: Path) -> None:
    text = f"{names}\n" + "".join(row.format(n=n) + "\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(1, 9)] for name in ("train_loss", "val_loss")}


def test_a_sentence_above_counted_rows_names_nothing(tmp_path: Path) -> None:
    text = "Loading data then\n" + "".join(f"Epoch {n}: 1.{n}25 2.{n}31 3.{n}1\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text)).keys() == {"column 2", "column 3", "column 4"}


@pytest.mark.parametrize("row", ["Loss at {n}: 1.{n}5", "Loss @ {n} = 1.{n}5", "Loss after {n} is 1.{n}5"])
def test_a_name_before_a_count_without_a_word_is_that_of_its_value(row: str, tmp_path: Path) -> None:
    text = "".join(row.format(n=n) + "\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [*range(1, 9)]}


def test_numbers_between_bars_are_no_batches(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} | 1.{n}25 | 2.{n}31\n" for n in range(1, 9))
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(1, 9)] for name in ("column 2", "column 3")}
