"""Recognises a launch that begins at the epoch at which the one before ended, in files with a row per epoch.

`log.txt` of DETR, DeiT and MAE is appended to by each launch. One that was started again after its first
epoch, or that resumed at the last one, goes back to no earlier epoch: its first row has the epoch of the row
before, and the same names. Where epochs have several such rows, it means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from holter.ingest.rows import LogRow

_LEAST_VALUES = 3
"""Values of a row that two rows of the same launch would not share the names of by chance."""
_ROWS_AHEAD = 2


class RepeatedEpochs:
    """What is known of the rows of a launch. `several`: epochs have several rows with the same names."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._names: list[str] = state.get("names", [])
        self._epoch: int | None = state.get("epoch")
        self._rows: int = state.get("rows", 0)
        self._is_several: bool = state.get("several", False)

    def state(self) -> dict[str, Any]:
        """The state as JSON-able values; empty before the first row."""
        if self._epoch is None:
            return {}
        several = {"several": True} if self._is_several else {}
        return {"names": self._names, "epoch": self._epoch, "rows": self._rows, **several}

    def may_begin(self, row: LogRow) -> bool:
        """Whether a row has the epoch and the names of the one before it."""
        return (
            row.step == self._epoch
            and not (self._is_several or row.labels)
            and len(row.values) >= _LEAST_VALUES
            and [*row.values] == self._names
        )

    def begins(self, row: LogRow, behind: Sequence[LogRow]) -> bool:
        """Whether such a row begins a launch, as those `behind` it show: these count on, a row each.

        Without any the row is the last one of the file: it begins a launch only if the one before had a
        single row, as a program may print its best epoch again when it ends.
        """
        ahead = [
            each.step
            for each in islice((each for each in behind if [*each.values] == self._names), _ROWS_AHEAD)
        ]
        if not ahead:
            return self._rows == 1
        return ahead[0] > row.step and len({*ahead}) == len(ahead)

    def note(self, row: LogRow, *, begins: bool) -> None:
        """Note a row, which `begins` a launch or goes on."""
        if begins:
            self._rows = 0
        elif self.may_begin(row):
            self._is_several = True
        self._rows = 1 if self._epoch is not None and row.step < self._epoch else self._rows + 1
        self._epoch, self._names = row.step, [*row.values]
