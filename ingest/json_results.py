"""Results in JSON Lines that state no step: `{"test_acc": 0.8}` below `{"step": 900, "loss": 0.5}`."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any

from holter.ingest import step_columns
from holter.ingest.json_objects import flatten_object, json_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.rows import LogRow

_MOST_NAMES = 256


class ResultsBelow:
    """Finds the metrics of objects without a step, which are at that of the row above.

    Those whose names rows have are left out, as they repeat something, and so are the best ones so far.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._step: int | None = state.get("step")
        self._names: dict[str, None] = dict.fromkeys(state.get("names", ()))

    def state(self) -> dict[str, Any]:
        """The last step and the names of the rows, as JSON-able values; empty before the first row."""
        return {} if self._step is None else {"step": self._step, "names": [*self._names]}

    def note(self, row: LogRow) -> None:
        """Note a row with a step."""
        self._step = row.step
        if len(self._names) < _MOST_NAMES and not row.values.keys() <= self._names.keys():
            self._names.update(dict.fromkeys(row.values))

    def row(self, logged: Mapping[str, Any]) -> LogRow | None:
        """The results in an object without a step; None where it has none."""
        if self._step is None:
            return None
        fields = dict(flatten_object(logged))
        values = {
            name: number
            for name, value in fields.items()
            if is_metric_name(name)
            and not step_columns.is_setting(name)
            and "best" not in name.lower()
            and name not in self._names
            and (number := json_number(value)) is not None
        }
        return LogRow(self._step, nan, values) if values else None
