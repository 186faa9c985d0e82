"""The first line of a text: it comes again as a program is started again, or heads a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.ingest.console.launches.opening_lines import is_dated, is_heading, numbers_of, opener_of

_SIGNS = (b":", b"=")
"""What is between a name and its value."""


class FirstTextLine:
    """What is known of the first line of a text; `part` is what it has in every launch, b"" if unknown.

    It may state a day and a time (`is_dated`), or be a `_heading` right above the records. `_numbers` are
    those of the last line with this part, as far as they may count trainings.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.part: bytes = state.get("opener", "").encode("latin-1")
        self.is_dated: bool = state.get("dated opener", False)
        self._heading: bytes = state.get("heading", "").encode("latin-1")
        self._numbers: list[int] = state.get("numbers", [])

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        known: dict[str, Any] = {}
        if self.part and self._numbers:
            known["numbers"] = self._numbers
        if self._heading:
            known["heading"] = self._heading.decode("latin-1")
        if self.part and self.is_dated:
            known["dated opener"] = True
        return known | ({"opener": self.part.decode("latin-1")} if self.part else {})

    def note(self, line: bytes) -> None:
        """Note the first line of the text that has words."""
        if part := opener_of(line):
            self.part, self._numbers, self.is_dated = part, numbers_of(line), is_dated(line)

    def note_above_record(self, line: bytes, *, is_first: bool) -> None:
        """Note a line above the first record: that is below a heading if the first line is right above it."""
        self._heading = line.strip() if is_first and is_heading(line) else b""

    def note_record(self, block: bytes, begin: int, end: int) -> None:
        """Note a record: a first line that comes again as one, `loss item: 0.5`, is none."""
        if self.part[-1:] in _SIGNS and block.find(self.part, begin, end) >= 0:
            self.part = b""

    def find(self, block: bytes, begin: int, end: int) -> int:
        """Where a part of a block has the first line; -1 where it has not."""
        return block.find(self.part, begin, end) if self.part else -1

    def heads_training(self, line: bytes) -> bool:
        """Whether a line is the first one of the text with another name or number: it heads a training.

        If it is no short heading right above the records, it has a number that counts on. A number that was
        skipped counts no trainings, here and from here on.
        """
        if self._heading and is_heading(line):
            return line.strip() != self._heading
        before, self._numbers = self._numbers, numbers_of(line)
        changes = [now - last for last, now in zip(before, self._numbers, strict=False) if now != last]
        if not before or changes[:1] > [1]:
            self._numbers = []
            return False
        return changes[:1] == [1] and len(before) == len(self._numbers)
