"""Trainings in turn among rows that lines name themselves: the clients, folds or models of one launch.

Where the steps of such rows begin anew, and the program did not, the rows are of the next training, as rows
without labels are (`interleaved_writers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from holter.ingest.console.writers.training_count import TrainingCount
from holter.ingest.rows import LogRow

_MAX_KINDS = 1024
"""Kinds of rows, by their labels and the names of their values, that are looked at."""


class LabelledTrainings:
    """Counts the trainings of each kind of labelled rows within a launch."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._kinds = {
            kind: TrainingCount(first, number, before, end)
            for kind, (first, end, number, before) in state.items()
        }

    def state(self) -> dict[str, list[int | None]]:
        """The first and the last step of each kind, its training, and by how much its steps went on."""
        return {
            kind: [count.first, count.end, count.number, count.before] for kind, count in self._kinds.items()
        }

    def begin_launch(self) -> None:
        """Forget the trainings of the launch before."""
        self._kinds.clear()

    def has_at(self, row: LogRow) -> bool:
        """Whether a row of this kind was at its step, or behind it, in this launch."""
        count = self._kinds.get(_kind_of(row))
        return count is not None and count.end >= row.step

    def of_training(self, row: LogRow, *, is_same_launch: bool) -> LogRow:
        """The row with the label of its training, if that is not the first one of its launch."""
        key = _kind_of(row)
        count = self._kinds.get(key)
        if count is None:
            if len(self._kinds) < _MAX_KINDS:
                self._kinds[key] = TrainingCount(first=row.step, end=row.step)
            return row
        if is_same_launch and count.first is not None and row.step <= count.first and row.step < count.end:
            count.advance()
            count.first = row.step
        return count.of_training(row)


def _kind_of(row: LogRow) -> str:
    return str(crc32(repr((row.labels, tuple(row.values))).encode()))
