"""Trainings in turn among rows that lines name themselves: the clients, folds or models of one launch.

Where the steps of such rows begin anew, and the program did not, the rows get the label `training` besides,
as rows without labels do (`interleaved_writers`). Where they do so again and again, as the epochs of each
round, the steps go on instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from holter.ingest.console.interleaved_writers import MOST_TRAININGS
from holter.ingest.rows import LogRow
from holter.types import labels_of

_MAX_KINDS = 1024
"""Kinds of rows, by their labels and the names of their values, that are looked at."""


class LabelledTrainings:
    """Counts the trainings of each kind of labelled rows within a launch."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._kinds: dict[str, list[int]] = {kind: list(steps) for kind, steps in state.items()}

    def state(self) -> dict[str, list[int]]:
        """The first and the last step of each kind, its training, and by how much its steps went on."""
        return self._kinds

    def begin_launch(self) -> None:
        """Forget the trainings of the launch before."""
        self._kinds.clear()

    def of_training(self, row: LogRow, *, is_same_launch: bool) -> LogRow:
        """The row with the label of its training, if that is not the first one of its launch."""
        key = str(crc32(repr((row.labels, tuple(row.values))).encode()))
        steps = self._kinds.get(key)
        if steps is None:
            if len(self._kinds) < _MAX_KINDS:
                self._kinds[key] = [row.step, row.step, 1, 0]
            return row
        first, last, number, before = steps
        if row.step < last and row.step <= first and is_same_launch:
            if number == MOST_TRAININGS:
                before += last - first + 1
            steps[:] = [row.step, row.step, min(number + 1, MOST_TRAININGS), before]
        steps[1] = row.step
        if steps[2] == 1:
            return row
        # a heading may have named the training, too
        name = f"{dict(row.labels).get('training', '')} {steps[2]}".strip()
        labels = labels_of({**dict(row.labels), "training": name})
        return row._replace(step=row.step + steps[3], labels=labels)
