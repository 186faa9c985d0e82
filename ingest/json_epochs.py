"""Steps of rows that count iterations within epochs, as in the JSON logs of OpenMMLab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line_counters import Counter
from holter.ingest.console.step_axis import training_step
from holter.ingest.rows import LogRow

_EVALUATIONS = frozenset({"val", "test", "eval"})
_MAX_WRITERS = 4096


class EpochAxis:
    """Continues iterations over epochs where they restart, by the number of them seen in an epoch.

    Rows of an evaluation (`"mode": "val"`) are at the last step of the training and named after it.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._writers: dict[str, dict[str, Any]] = {name: dict(axis) for name, axis in state.items()}

    def state(self) -> dict[str, Any]:
        """What is known of the epochs of each writer, as JSON-able values."""
        return self._writers

    def row(self, logged: Mapping[str, Any], row: LogRow) -> LogRow:
        """A row of an object at its step."""
        epoch = logged.get("epoch")
        if "iter" not in logged or not isinstance(epoch, int) or isinstance(epoch, bool):
            return row
        writer = "/".join(value for _, value in row.labels)
        if writer not in self._writers and len(self._writers) >= _MAX_WRITERS:
            return row
        axis = self._writers.setdefault(writer, {})
        if (mode := logged.get("mode")) in _EVALUATIONS:
            values = {
                name if name.startswith(mode) else f"{mode}/{name}": row.values[name] for name in row.values
            }
            return row._replace(step=int(axis.get("step", row.step)), values=values)
        step = training_step({Counter.EPOCH: (epoch, 0), Counter.STEP: (row.step, 0)}, axis)
        return row if step is None else row._replace(step=step)
