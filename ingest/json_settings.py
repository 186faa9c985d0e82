"""Settings in the first object of JSON Lines, which the rows below may repeat: they are no metrics.

A program that writes its arguments first, and then the same object with what it measures in it, has
`"momentum": 0.9` in each row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.line.line_settings import is_learning_rate
from holter.ingest.json_objects import flatten_object, json_number
from holter.ingest.metric_names import is_metric_name
from holter.ingest.rows import LogRow

_MOST = 256


class SettingsAbove:
    """The numbers of an object without a step in the first line, by their names."""

    def __init__(self, state: Mapping[str, float]) -> None:
        self._numbers = dict(state)

    def state(self) -> Mapping[str, float]:
        """The settings; nothing if there are none."""
        return dict(self._numbers)

    def note(self, logged: Mapping[str, Any], *, is_first: bool) -> None:
        """Note the numbers of an object without a step: the first one, or that of a later launch."""
        if not (is_first or self._numbers):
            return
        numbers = {
            name: number
            for name, value in flatten_object(logged)
            if (number := json_number(value)) is not None and not _is_measured(name)
        }
        if len(numbers) <= _MOST and self._numbers.keys() <= numbers.keys():
            self._numbers = numbers

    def without(self, row: LogRow) -> LogRow:
        """A row without the settings that it repeats; what it has another value of is none from then on."""
        if not self._numbers:
            return row
        values = {name: value for name, value in row.values.items() if self._numbers.get(name) != value}
        for name in values:
            self._numbers.pop(name, None)
        return row._replace(values=values) if values else row


def _is_measured(name: str) -> bool:
    """Whether a name is that of a metric or of a rate, which a training may begin with."""
    return is_learning_rate(name) or is_metric_name(name)
