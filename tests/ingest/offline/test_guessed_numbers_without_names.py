"""Numbers without names in files given by hand: bare rows, losses below epochs, and what is no curve."""

from __future__ import annotations

from pathlib import Path

import pytest

from holter.ingest.offline.explain import explain_files
from tests.support.log_runs import read_log, steps_of

N = range(1, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("".join(f"Epoch {n}\n0.{n}5\n" for n in range(5)), {"loss": [0, 1, 2, 3, 4]}),
        ("".join(f"Epoch {n}\n0.{n}5\n0.5\n" for n in N), {"loss": [1, 2, 3], "loss_2": [1, 2, 3]}),
        ("".join(f"Evaluated {n}/287 with L2 loss 0.{n}\n" for n in N), {"evaluated/L2 loss": [0, 1, 2]}),
    ],
    ids=["bare numbers below epochs", "two numbers below each", "an evaluation alone"],
)
def test_texts_without_records_are_guessed(tmp_path: Path, text: str, expected: dict[str, list[int]]) -> None:
    assert steps_of(read_log(tmp_path, text, "loss.txt")) == expected
    (report,) = explain_files(tmp_path / "loss.txt")
    assert report.is_guessed


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([f"{n}.25" for n in range(12)], "0.log"),
        ([f"{n}.25\t0.5\t" for n in range(12)], "slurm.out"),
        ([f"{n}: 0.{n}" for n in (0, 1, 2, 3)], "loss.txt"),
    ],
    ids=["numbers", "columns", "numbers that are counted"],
)
def test_bare_numbers_are_a_curve_where_a_person_gave_the_file(
    tmp_path: Path, lines: list[str], name: str
) -> None:
    run = read_log(tmp_path, "".join(f"{line}\n" for line in lines), name)
    assert all(steps == [*range(len(lines))] for steps in steps_of(run).values())
    assert steps_of(run)


def test_whole_numbers_are_no_curve(tmp_path: Path) -> None:
    assert not steps_of(read_log(tmp_path, "".join(f"{n * n}\n" for n in range(30)), "ids.txt"))


def test_columns_without_names_are_those_of_a_file_of_losses(tmp_path: Path) -> None:
    rows = "".join(f"6.3e-0{n} 5.{n}e-01\n" for n in range(4))
    assert steps_of(read_log(tmp_path, rows, "val_loss.txt")) == {
        name: [0, 1, 2, 3] for name in ("val_loss", "val_loss_2")
    }
    assert steps_of(read_log(tmp_path, rows, "points.txt")) == {}


def test_bare_rows_may_have_several_values_at_each_step(tmp_path: Path) -> None:
    rows = "".join(f"{5 * n},{n + 2}.{n}{again}7\n" for n in range(1, 8) for again in range(3))
    steps = [*range(5, 40, 5)]
    for launches in (1, 2):
        run = read_log(tmp_path, launches * rows, "val_loss.txt")
        assert run.attempts == launches
        assert {
            (key.metric, key.labels): series.step.tolist() for key, series in run.data.series.items()
        } == {
            ("val_loss", ()): launches * steps,
            ("val_loss", (("repeat", "2"),)): launches * steps,
            ("val_loss", (("repeat", "3"),)): launches * steps,
        }


def test_bare_rows_of_few_classes_are_no_steps(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n + 2}.{n}{again}7\n" for n in range(3) for again in range(9))
    assert steps_of(read_log(tmp_path, rows, "points.txt")) == {}


def test_values_behind_epochs_are_named_after_the_file(tmp_path: Path) -> None:
    text = "".join(f"epoch{n}\t0.{n}5491\n" for n in N)
    assert steps_of(read_log(tmp_path, text, "train_loss.txt")) == {"train_loss": [1, 2, 3]}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"2026-01-01 10:00:0{n},123 - INFO - Loss: 1{n}.5, Total Steps: 200\n" for n in range(9)),
        "".join(f"{n} 0.20{n} 0.87\n" for n in range(9)),
    ],
)
def test_rows_behind_a_logger_and_columns_without_a_header_are_guessed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.txt"
    file.write_text(text)
    (report,) = explain_files(file)
    assert report.is_guessed
    assert (report.first_step, report.last_step) == (0, 8)


@pytest.mark.parametrize(("rows", "expected"), [(3, {"column 2": 7}), (40, {"epoch": 280, "column 2": 280})])
def test_many_rows_of_each_count_are_counted_within_it(
    tmp_path: Path, rows: int, expected: dict[str, int]
) -> None:
    text = "".join(f"{10 * n},{2 / (n + row / 50):.5f}\n" for n in range(1, 8) for row in range(rows))
    run = read_log(tmp_path, text, "numbers.txt")
    points = {key.metric: series.step.tolist() for key, series in run.data.series.items() if not key.labels}
    assert {name: len(steps) for name, steps in points.items()} == expected
    assert rows == 3 or points["column 2"] == [*range(280)]


def test_columns_of_more_digits_than_any_step_are_no_counts(tmp_path: Path) -> None:
    rows = [f"{epoch} {batch}{'1' * 5_000} 0.{epoch}{batch}5" for epoch in N for batch in N]
    assert steps_of(read_log(tmp_path, "\n".join(rows) + "\n", "loss.txt"))["loss_3"] == [*range(9)]


def test_numbers_in_brackets_may_be_aligned_by_blanks(tmp_path: Path) -> None:
    rows = [f"Turn  0, J {n:2} ({40 * n % 70:2}), FrontLoss 0.{n}5, Share 0.{n}7" for n in range(12)]
    read = steps_of(read_log(tmp_path, "\n".join(rows) + "\n", "train.log"))
    assert read["FrontLoss"] == read["Share"] == [*range(12)]


BARS = (
    "32/32 [==============================] - 0s 2ms/step - loss: 0.{n}5 - score: 0.{n}\n",
    "8/8 \N{BOX DRAWINGS HEAVY HORIZONTAL}"
    + 19 * "\N{BOX DRAWINGS HEAVY HORIZONTAL}"
    + " 0s 2ms/step - loss: 0.{n}5 - score: 0.{n}\n",
    "1/1 [=====-----] loss: 0.{n}5 / score: 0.{n}\n",
)


@pytest.mark.parametrize("bar", BARS)
def test_complete_bars_below_no_epoch_are_rows(bar: str, tmp_path: Path) -> None:
    text = "".join(bar.format(n=n) for n in range(1, 7))
    assert steps_of(read_log(tmp_path, text)) == {name: [*range(6)] for name in ("loss", "score")}


def test_a_unit_of_minutes_is_no_part_of_the_next_name(tmp_path: Path) -> None:
    text = "".join(
        f"Patient: {n}   seed 4   time: 2.{n} m   valid_acc: 0.8{n}5   valid_loss: 0.4{n}\n"
        for n in range(1, 7)
    )
    assert {"valid_acc", "valid_loss"} <= steps_of(read_log(tmp_path, text)).keys()
