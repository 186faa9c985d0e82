"""Numbers lines of one text that count nothing: each has the number behind that of the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RowNumbers:
    """The numbers of lines of one kind, from 1 on in each launch; a state has the last one under `key`."""

    key: str

    def note(self, template: int, before: int, state: dict[str, Any]) -> None:
        """Note that lines of this text are numbered; so many were `before` those that are read first."""
        state[self.key] = {"template": template, "last": before}

    def next(self, template: int, state: dict[str, Any]) -> int | None:
        """The number of a line of this text; None if its lines are not numbered."""
        rows = state.get(self.key)
        if rows is None or rows["template"] != template:
            return None
        rows["last"] += 1
        return int(rows["last"])

    def begin(self, state: dict[str, Any]) -> None:
        """Number from 1 on: another launch begins."""
        if self.key in state:
            self.note(state[self.key]["template"], 0, state)
