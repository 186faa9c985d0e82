"""Figures of the regions of a batch, as darknet prints them above the line of the batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of

_BATCH = " {0}: 7{0}.25, 6{0}.50 avg, 0.001000 rate, 1.5{0} seconds, {0}64 images\n"
_NAMES = ["loss", "avg_loss", "rate", "seconds", "images"]


def _log(*parts: str, batch: str = _BATCH) -> str:
    return "".join("".join(f"{part}\n" for part in parts) + batch.format(at) for at in range(1, 5))


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (
            "Region 82 Avg IOU: 0.5, Class: 0.9, Obj: 0.4, No Obj: 0.01, .5R: 0.6, .75R: 0.1,  count: 3",
            ["Region 82/" + name for name in ("Avg IOU", "Class", "Obj", "No Obj", ".5R", ".75R")],
        ),
        (
            "Region Avg IOU: 0.5, Class: 0.9, Obj: 0.4, No Obj: 0.01, Avg Recall: 0.6,  count: 8",
            ["Region/" + name for name in ("Avg IOU", "Class", "Obj", "No Obj", "Avg Recall")],
        ),
        (
            "Detection Avg IOU: 0.5, Pos Cat: 0.9, All Cat: 0.4, Pos Obj: 0.1, Any Obj: 0.2, count: 3",
            ["Detection/" + name for name in ("Avg IOU", "Pos Cat", "All Cat", "Pos Obj", "Any Obj")],
        ),
        (
            "v3 (mse loss, Normalizer: (iou: 0.75, cls: 1.00) Region 94 Avg (IOU: 0.5, GIOU: 0.4), "
            "Class: 0.9, Obj: 0.4, No Obj: 0.01, .5R: 0.6, .75R: 0.1, count: 3, class_loss = 2.5 ",
            ["Region 94/" + name for name in ("Avg IOU", "GIOU", "Class", "Obj", "No Obj", ".5R", ".75R")],
        ),
    ],
)
def test_figures_of_a_region_are_at_its_batch(tmp_path: Path, line: str, names: list[str]) -> None:
    assert steps_of(read_log(tmp_path, _log(line))) == {name: [1, 2, 3, 4] for name in [*_NAMES, *names]}


def test_they_are_means_over_the_parts_that_have_objects(tmp_path: Path) -> None:
    parts = [f"Region 82 Avg IOU: {value}, Class: 0.5, count: 2" for value in ("0.25", "0.75", "-nan")]
    run = read_log(tmp_path, _log(*parts, "Region 94 Avg IOU: -nan, Class: 0.25, count: 0"))
    values = {key.metric: series.value.tolist() for key, series in run.data.series.items()}
    assert values["Region 82/Avg IOU"] == [0.5] * 4
    assert values["Region 94/Class"] == [0.25] * 4
    assert "Region 94/Avg IOU" not in values


def test_a_batch_of_a_classifier_states_its_epoch(tmp_path: Path) -> None:
    run = read_log(tmp_path, _log(batch=_BATCH.replace(" {0}:", "{0}, 0.{0}25:")))
    assert steps_of(run) == {name: [1, 2, 3, 4] for name in [*_NAMES, "epoch"]}
