"""Lines that count something else within an epoch than the lines of its steps: `Updates=500` at batch 1000.

Where gradients are accumulated, a program may count batches in its lines and updates in those of checkpoints.
Both are positions in the same epoch, but of different units: only the first that was printed is the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line.line_counters import Counter

_UNIT = "unit"


def is_of_other_unit(counts: Mapping[Counter, tuple[int, int]], state: dict[str, Any]) -> bool:
    """Whether a line that names the epoch of the last one counts another unit: it would be back within it.

    `counts` are the numbers that the line counts, each with its total. The unit of the first line is noted.
    """
    unit = next((counter for counter in (Counter.STEP, Counter.BATCH) if counter in counts), None)
    if unit is None or Counter.EPOCH not in counts:
        return False
    if state.setdefault(_UNIT, int(unit)) == unit or "epoch" not in state:
        return False
    epoch, last = state["epoch"]
    return bool(counts[Counter.EPOCH][0] == epoch and counts[unit][0] < last)


def forget_unit(state: dict[str, Any]) -> None:
    """Forget what is counted within epochs: another launch begins."""
    state.pop(_UNIT, None)
