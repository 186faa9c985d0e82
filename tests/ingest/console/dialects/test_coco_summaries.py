"""Summaries in the form of COCO's tools: what they are of, and the data of their evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

N = (1, 2, 3)
SUMMARY = (
    " Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = 0.{n}00\n"
    " Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000\n"
)
NAMES = ("AP@0.75 all maxDets=100", "AR@0.50:0.95 small maxDets=100")


def _text(heading: str, batches: str = "") -> str:
    """Epochs of a training, each with two evaluations that have the same results."""
    return "".join(
        f"Epoch {n} step {n}0 loss: 2.{n}\n{batches}Running per image evaluation...\n"
        + "".join(f"{heading.format(of)}\nDONE (t=0.1s).\n{SUMMARY.format(n=n)}" for of in ("bbox", "segm"))
        for n in N
    )


@pytest.mark.parametrize("heading", ["IoU metric: {}", "Evaluate annotation type *{}*"])
def test_equal_summaries_below_headings_of_what_is_compared_are_apart(heading: str, tmp_path: Path) -> None:
    run = read_log(tmp_path, _text(heading))
    expected = {f"val/{of}/{name}": [10, 20, 30] for of in ("bbox", "segm") for name in NAMES}
    assert expected.items() <= steps_of(run).items()
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["val/segm/AP@0.75 all maxDets=100"] == [0.1, 0.2, 0.3]
    assert values["val/segm/AR@0.50:0.95 small maxDets=100"] == [-1, -1, -1]


def test_summaries_are_of_the_data_of_the_evaluation_above(tmp_path: Path) -> None:
    text = _text("IoU metric: {}", "Test: [0/9] cost: 0.5 (0.5)\nTest: [8/9] cost: 0.4 (0.5)\n")
    names = {name for name in steps_of(read_log(tmp_path, text)) if "@" in name}
    assert names == {f"test/{of}/{name}" for of in ("bbox", "segm") for name in NAMES}
