"""Objects of JSON with the values of all steps in lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.log_runs import read_log

STEPS = [*range(12)]
LOSSES = [5.0 - step / 4 for step in STEPS]
NESTED = [[step + layer / 8 for layer in range(5)] for step in STEPS]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "lists",
    [
        {"step": STEPS, "total_loss": LOSSES},
        {"step": STEPS, "total_loss": [f"{loss:.2f}" for loss in LOSSES]},
        {"step": STEPS, "layers": NESTED, "total_loss": LOSSES},
        {"name": "a run", "step": STEPS, "total_loss": LOSSES},
    ],
    ids=["numbers", "texts", "lists of lists", "a setting"],
)
def test_lists_of_an_object_are_values_of_their_steps(
    lists: dict[str, object], indent: int | None, tmp_path: Path
) -> None:
    run = read_log(tmp_path, json.dumps(lists, indent=indent) + "\n", name="loss.log")
    [(key, series)] = run.data.series.items()
    assert (key.metric, series.step.tolist(), series.value.tolist()) == ("total_loss", STEPS, LOSSES)
