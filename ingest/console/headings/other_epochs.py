"""The next training of a launch where no line names it: its epochs have a total that was passed before.

`Epoch 10/100` behind `Epoch #199` counts other epochs. Where none of the lines about the set-up came again,
with which a launch begins, the program trains something else: the head behind the representation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.headings.training_sections import begin_unnamed
from holter.ingest.console.line.line_counters import Counter
from holter.ingest.console.steps.launch_beginnings import is_before_training


def name_next_training(counts: Mapping[Counter, tuple[int, int]], axis: dict[str, Any]) -> None:
    """Number the training of a line whose epochs are others than those so far, unless lines above name it."""
    number, total = counts.get(Counter.EPOCH, (0, 0))
    if not total or "set up" not in axis or "may begin" in axis or is_before_training(axis):
        return
    last = _last_epoch(axis)
    if last is None or not number <= total < last or "next" in axis.get("section", ()):
        return
    if "section" not in axis:
        begin_unnamed(axis)
    before = axis["section"]["now"].get("training", "1")
    axis["section"]["next"] = {"training": str(int(before) + 1 if before.isdecimal() else 2)}


def _last_epoch(axis: Mapping[str, Any]) -> int | None:
    """The epoch of the last line of the training with any."""
    if "epoch" in axis:
        return int(axis["epoch"][0])
    return int(axis["lines"][1]) if "lines" in axis else None
