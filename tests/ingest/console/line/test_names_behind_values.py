"""Values before an equals sign and their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

EPOCHS = (1, 2, 3, 4)


@pytest.mark.parametrize(
    "text",
    [
        "Epoch {n}: 1.{n}4 = loss, 0.{n}8 = accuracy (val)\n",
        "Epoch {n}\n 1.{n}4 = loss\n\t0.{n}8\t= accuracy   (val)\n",
    ],
    ids=["in a line", "below an epoch"],
)
def test_the_name_of_a_value_may_be_behind_an_equals_sign(text: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, "".join(text.format(n=n) for n in EPOCHS))
    assert steps_of(run) == {"loss": [*EPOCHS], "val accuracy": [*EPOCHS]}


def test_values_alone_before_their_names_are_counted(tmp_path: Path) -> None:
    text = "".join(
        f"Fitting model: M{n} ...\n\t0.7{n:02}\t = Validation score   (accuracy)\n"
        f"\t{n}.1s\t = Training   runtime\n"
        for n in range(12)
    )
    assert steps_of(read_log(tmp_path, text))["Validation score (accuracy)"] == [*range(12)]


def test_what_a_cell_counts_is_no_name_of_the_number_in_the_next_one(tmp_path: Path) -> None:
    text = "".join(f"  Step {n}0 | Loss: 2.{n} | {n}4M tok | {n}.5m | $0.{n}1\n" for n in EPOCHS)
    assert steps_of(read_log(tmp_path, text)) == {"Loss": [10 * n for n in EPOCHS]}


def test_cells_of_names_alone_are_the_names_of_the_numbers_behind_them(tmp_path: Path) -> None:
    text = "".join(f"step | {n} time | 2.{n} loss | 0.{n}5\n" for n in EPOCHS)
    assert steps_of(read_log(tmp_path, text)) == {"time": [*EPOCHS], "loss": [*EPOCHS]}


@pytest.mark.parametrize(
    "behind", ["", " \t||\tscore_threhold=0.5 : F1=0.4{0} ; Recall=3{0}.25% ; Precision=5{0}.5%"]
)
def test_scores_of_classes_that_are_before_them(tmp_path: Path, behind: str) -> None:
    classes = ("boat", "garden chair", "cup")
    text = "".join(
        f"Epoch {n}/3 - loss: 0.{n}5\nGet map.\n"
        + "".join(f"{n}{at}.48% = {name} AP{behind.format(n)}\n" for at, name in enumerate(classes))
        + f"mAP = {n}1.36%\n"
        for n in range(1, 4)
    )
    scores = ("AP", "F1", "Recall", "Precision") if behind else ("AP",)
    steps = steps_of(read_log(tmp_path, text))
    assert steps == {name: [1, 2, 3] for name in ("loss", "mAP")} | {
        f"{name}/{score}": [1, 2, 3] for name in classes for score in scores
    }
