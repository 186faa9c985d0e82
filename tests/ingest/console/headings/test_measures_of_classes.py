"""What is measured of each class, named in a heading above a row for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import assert_steps

N = range(1, 5)
NUMBERED = "Class 0: 0.{n}1\nClass 1: 0.{n}2\n"
NAMED = "  lake: 0.{n}1\n  hill: 0.{n}2\n"


@pytest.mark.parametrize(
    ("heading", "measure"),
    [
        ("IoU per class:", "IoU"),
        ("--- Per-class accuracy ---", "accuracy"),
        ("Val class-wise Dice scores:", "Val Dice"),
        ("Test F1 (Dice) per class:", "Test F1"),
        ("Recall for each class", "Recall"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "2026-05-04 10:00:01 INFO "])
def test_rows_below_a_heading_of_classes_are_named_after_it(
    heading: str, measure: str, prefix: str, tmp_path: Path
) -> None:
    expected = {"loss": [*N], **{f"{measure}/class={n}": [*N] for n in (0, 1)}}
    lines = f"Epoch {{n}}: loss 0.{{n}}\n{heading}\n"
    for rows, names in (
        (NUMBERED, expected),
        (NAMED, {"loss": [*N], f"{measure}/lake": [*N], f"{measure}/hill": [*N]}),
    ):
        epoch = "".join(f"{prefix}{line}\n" for line in (lines + rows).splitlines())
        assert_steps(tmp_path, "".join(epoch.format(n=n) for n in N), names)


def test_numbers_of_classes_are_of_the_metric_above_them(tmp_path: Path) -> None:
    epoch = "Epoch {n}/4\nTrain Loss: 0.{n}\nValidation Dice Scores:\nVal Loss: 1.{n}\n" + NUMBERED
    names = ("Train Loss", "Val Loss", "Validation Dice/class=0", "Validation Dice/class=1")
    assert_steps(tmp_path, "".join(epoch.format(n=n) for n in N), {name: [*N] for name in names})


def test_each_heading_of_classes_names_its_own_rows(tmp_path: Path) -> None:
    blocks = "".join(f"{name} per class:\n{NAMED}\n" for name in ("IoU", "Recall"))
    text = "".join(f"Epoch {n}: loss 0.{n}\n{blocks.format(n=n)}mIoU: 0.{n}3\n" for n in N)
    names = ("loss", "mIoU", "IoU/lake", "IoU/hill", "Recall/lake", "Recall/hill")
    assert_steps(tmp_path, text, {name: [*N] for name in names})


def test_rows_below_another_step_are_of_no_heading(tmp_path: Path) -> None:
    text = "Epoch 1: loss 0.9\nIoU per class:\n" + "".join(
        f"Epoch {n}: loss 0.{n}\nlake: 0.{n}1\nhill: 0.{n}2\n" for n in range(2, 6)
    )
    assert_steps(tmp_path, text, {"loss": [1, 2, 3, 4, 5], "lake": [2, 3, 4, 5], "hill": [2, 3, 4, 5]})


@pytest.mark.parametrize("metric", ["IoU", "Recall", "Dice score", "F1 Score"])
def test_a_metric_may_be_named_before_the_class_that_it_is_of(metric: str, tmp_path: Path) -> None:
    rows = "".join(f"{metric} for class {of}: 0.{{n}}{of}\n" for of in (1, 2))
    text = "".join(f"Epoch {n}: loss 0.{n}\n{rows.format(n=n)}" for n in N)
    names = ("loss", f"{metric}/class=1", f"{metric}/class=2")
    assert_steps(tmp_path, text, {name: [*N] for name in names})
