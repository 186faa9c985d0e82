"""Steps of rows that count iterations within epochs, as in the JSON logs of OpenMMLab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line_counters import Counter
from holter.ingest.console.step_axis import training_step
from holter.ingest.console.table_rows import number_of_part
from holter.ingest.rows import LogRow
from holter.ingest.step_columns import LARGEST_STEP, find_step

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


class PartsOfEpochs:
    """Numbers rows that state nothing but a part of an epoch, `{"epoch": 0.25, "loss": 0.5}`, as in CSV."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state: dict[str, Any] = dict(state)

    def state(self) -> dict[str, Any]:
        """What is known of the parts, as JSON-able values; empty before the first fraction."""
        return self._state

    def numbered(self, logged: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object, with a step in place of a part of an epoch if it has no other."""
        epoch = logged.get("epoch")
        if not (isinstance(epoch, float) or (self._state and isinstance(epoch, int))):
            return logged
        if isinstance(epoch, bool) or not abs(epoch) <= LARGEST_STEP or find_step([*logged]) != "epoch":
            return logged
        step, is_part = number_of_part(float(epoch), self._state)
        return {"step": step, **logged} if is_part else {**logged, "epoch": step}
