"""The labels of series by the process that printed their values.

The first process that prints values is the main one: its series have no label, and once others print values
it appears among these as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.stored_state import labels_from_json
from holter.types import Labels, labels_of


class ProcessSeries:
    """Which process is the main one, and whether others print values; see the module."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.main = labels_from_json(state.get("voice"))
        self._several: bool = state.get("several", False)

    def state(self) -> dict[str, Any]:
        """What is known, as JSON-able values."""
        return {"voice": self.main, "several": self._several}

    def is_alone(self, process: Labels) -> bool:
        """Whether nothing but this process has printed values, so that its prefix states nothing of them."""
        return not process or (not self._several and self.main in (None, process))

    def labels_of_process(self, process: Labels) -> tuple[Labels, ...]:
        """The labels of the series that get the values of a process with these labels."""
        if self.main is None:
            self.main = process
        if process != self.main:
            self._several = True
            return (process,)
        return ((), process) if self._several and process else ((),)

    def labels_of(self, own: Labels, process: Labels) -> tuple[Labels, ...]:
        """The same for values with labels of their own."""
        if not process:
            return (own,)
        return tuple(with_rank(own, labels) for labels in self.labels_of_process(process))

    def of_values(self, own: Labels | None, process: Labels, *, job_wide: bool) -> tuple[Labels, ...]:
        """The same for values that may have labels of their own, or be of all processes, `job_wide`."""
        if job_wide:
            return (own or (),)
        return self.labels_of_process(process) if own is None else self.labels_of(own, process)


def with_rank(own: Labels, process: Labels) -> Labels:
    """Labels of a line's own; a rank in the launcher's prefix is that of the job and wins."""
    rank = next((label for label in process if label[0] == "rank"), None)
    return own if rank is None or rank in own else labels_of({**dict(own), rank[0]: rank[1]})
