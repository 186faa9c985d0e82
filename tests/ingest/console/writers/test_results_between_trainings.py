"""Results that are measured once a training, where several trainings of one launch follow one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.log_runs import read_log, steps_of


@pytest.mark.parametrize("count", [3, 5, 9])
def test_results_are_of_the_training_that_they_are_behind(tmp_path: Path, count: int) -> None:
    text = "Namespace(rate=0.1, seed=3)\nUsing device: cuda\n" + "".join(
        f"Pruned {part}0 % of the weights\nAccuracy after pruning: 0.4{part}\n"
        + "".join(f"Epoch {epoch}/4 loss: {part / epoch:.3f} acc: 0.{epoch}\n" for epoch in range(1, 5))
        + f"Accuracy after tuning: 0.8{part}\n"
        for part in range(1, count + 1)
    )
    run = read_log(tmp_path, text)
    found = {
        name: steps for name, steps in steps_of(run).items() if name.startswith(("loss", "Accuracy aft"))
    }
    labels = ["", *(f"/training={number}" for number in range(2, count + 1))]
    assert run.attempts == 1
    assert {name for name in found if "tuning" in name} == {f"Accuracy after tuning{each}" for each in labels}
    assert {name for name in found if "loss" in name} == {f"loss{each}" for each in labels}
    assert not any("repeat" in name for name in found)
    values = {key.labels: series.value.tolist() for key, series in run.data.series.items()}
    assert len(values) == count
