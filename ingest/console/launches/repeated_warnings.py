"""Warnings of Python above the first record of a launch: a process prints that of a place once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WARNING = re.compile(rb"[^\s:]{1,300}:\d{1,6}: \w{0,60}Warning: ")
"""A warning of Python, which prints the line of the program that it is about below it."""
_MOST_WARNINGS = 4


class RepeatedWarnings:
    """How often each warning was printed above the first record, and whether one `came_again` since the last.

    `_is_last`: the last line was a warning.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._printed = {text.encode("latin-1"): count for text, count in state.get("warnings", ())}
        self._is_last: bool = state.get("warned", False)
        self.came_again: bool = state.get("warned again", False)

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        known: dict[str, Any] = {}
        if self._printed:
            known["warnings"] = [[text.decode("latin-1"), count] for text, count in self._printed.items()]
        if self._is_last:
            known["warned"] = True
        if self.came_again:
            known["warned again"] = True
        return known

    def count(self, line: bytes) -> bool:
        """Note a line above the first record; returns whether it is the one that a warning above is about."""
        warning = _WARNING.search(line) if b"Warning: " in line else None
        was_last, self._is_last = self._is_last, warning is not None
        if warning is not None and (warning[0] in self._printed or len(self._printed) < _MOST_WARNINGS):
            self._printed[warning[0]] = self._printed.get(warning[0], 0) + 1
        return was_last and line[:1].isspace()

    def pass_over(self) -> None:
        """Note that a line above the first record is no warning."""
        self._is_last = False

    def are_in(self, block: bytes, begin: int, end: int) -> bool:
        """Whether a part of a block has one of the warnings."""
        return any(block.find(warning, begin, end) >= 0 for warning in self._printed)

    def note_first_record(self) -> None:
        """Retain those that were printed once: others come with each worker of a process."""
        self._printed = {text: count for text, count in self._printed.items() if count == 1}
        self._is_last = False

    def note_step(self, step: int, last: int | None) -> None:
        """Note a record that begins no launch: behind the last one, warnings were those of workers."""
        if self.came_again:
            self.came_again = False
            if last is not None and step > last:
                self._printed.clear()
