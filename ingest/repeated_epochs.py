"""Recognises a launch that begins at the epoch at which the one before ended, in files with a row per epoch.

`log.txt` of DETR, DeiT and MAE is appended to by each launch. One that was started again after its first
epoch, or that resumed at the last one, goes back to no earlier epoch: its first row has the epoch of the row
before, and the same names. Such rows are held back until those behind show it, as among printed lines
(`first_step_again`). Where epochs have several such rows, it means nothing.

One that resumed behind the epoch at which the one before ended, as that was of another training, skips epochs
in less time than they take: its first row is as clear.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.writers.first_step_again import rows_of_launch
from holter.ingest.epoch_pace import EpochPace
from holter.ingest.rows import LogRow, row_from_json, row_to_json

_LEAST_VALUES = 2
"""Values of a row that two rows of the same launch would not share the names of by chance."""
_MOST_HELD = 16


class RepeatedEpochs:
    """Holds rows back that may begin a launch. `several`: epochs have several rows with the same names."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._names: list[str] = state.get("names", [])
        self._epoch: int | None = state.get("epoch")
        self._rows: int = state.get("rows", 0)
        self._is_several: bool = state.get("several", False)
        self._held = [row_from_json(row) for row in state.get("held", ())]
        self._pace = EpochPace(state.get("pace", ()))

    def state(self) -> dict[str, Any]:
        """The state as JSON-able values; empty before the first row."""
        if self._epoch is None:
            return {}
        several = {"several": True} if self._is_several else {}
        held = {"held": [row_to_json(row) for row in self._held]} if self._held else {}
        pace = {"pace": pace} if (pace := self._pace.state()) else {}
        return {"names": self._names, "epoch": self._epoch, "rows": self._rows, **several, **held, **pace}

    @property
    def is_holding(self) -> bool:
        """Whether rows are held back."""
        return bool(self._held)

    def may_begin(self, row: LogRow) -> bool:
        """Whether a row has the names of the one before it, and its epoch or one too far behind it."""
        return (
            (row.step == self._epoch or self._skips(row))
            and not (self._is_several or row.labels or row.attempt)
            and len(row.values) >= _LEAST_VALUES
            and [*row.values] == self._names
        )

    def add(self, row: LogRow, *, counts_epochs: bool) -> list[LogRow]:
        """The rows that are clear now. `counts_epochs`: the step of the row is an epoch."""
        if self._held:
            return self._decide(row)
        if counts_epochs and self.may_begin(row):
            if self._skips(row):
                return [self._noted(row._replace(begins=True))]
            self._held = [row]
            return []
        return [self._noted(row)]

    def _skips(self, row: LogRow) -> bool:
        """Whether there was no time for the epochs between a row and the one before."""
        return self._epoch is not None and self._pace.is_too_fast(row.step - self._epoch, row.time)

    def _decide(self, row: LogRow) -> list[LogRow]:
        """Whether launches begin with the first of the rows that are held."""
        steps = [each.step for each in (*self._held, row) if [*each.values] == self._names]
        assert self._epoch is not None, "the epoch that came again"
        rows = rows_of_launch([self._epoch, *steps], is_between=True)
        if row.attempt or row.step < self._held[-1].step:
            return [*self.release(), self._noted(row)]
        self._held.append(row)
        if rows is None and len(self._held) < _MOST_HELD:
            return []
        return self._released(begins=rows == 1)

    def release(self) -> list[LogRow]:
        """The rows held back, as nothing that comes after them shows more.

        An epoch alone that comes again begins a launch only if the one before had a single row: a program may
        print its best epoch again when it ends.
        """
        behind = [row.step for row in self._held if row.step != self._epoch and [*row.values] == self._names]
        begins = len({*behind}) == len(behind) if behind else self._rows == len(self._held) == 1
        return self._released(begins=begins)

    def _released(self, *, begins: bool) -> list[LogRow]:
        """The rows held back, of which each of the epoch that came again `begins` a launch, or none does."""
        held, self._held = self._held, []
        epoch, names = self._epoch, self._names
        self._is_several |= bool(held) and not begins
        rows = [row._replace(begins=begins and row.step == epoch and [*row.values] == names) for row in held]
        return [self._noted(row) for row in rows]

    def _noted(self, row: LogRow) -> LogRow:
        """The row, as the last one so far."""
        is_first = row.begins or (self._epoch is not None and row.step < self._epoch)
        self._rows = 1 if is_first else self._rows + 1
        self._pace.note(0 if is_first or self._epoch is None else row.step - self._epoch, row.time)
        self._epoch, self._names = row.step, [*row.values]
        return row
