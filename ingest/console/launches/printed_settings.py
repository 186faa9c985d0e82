"""Short settings that a program prints one below another above its first record, as `  lr: 0.1`.

Parts of such lines are too common to show a launch, but that all of them come again, with all of their
digits, is no chance: the program was started again, wherever its steps continue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_SETTING = re.compile(
    rb"[ \t>*|-]{0,20}(?:\[[\w ]{1,12}\] )?--?(?P<option>[A-Za-z][\w-]{1,30})[ =:]{1,4}[\w.+/-]{1,40}[ \t]*"
    rb"|[ \t>*|-]{0,20}(?P<name>[A-Za-z][\w-]{1,30}(?: [A-Za-z][\w-]{1,20})?) {0,20}[:=]{1,2} {0,20}"
    rb"['\x22]?[\w.+/-]{1,40}['\x22]?,?[ \t]*"
)
_AMOUNT = re.compile(rb"(?i)(?:num|n|max|total|batch|save|log|eval|print|warmup)[_ -]|s$|size|per|interval")
"""What is in a name that distinguishes an amount from what counts: `num_steps`, `epochs`."""
_COUNTS = re.compile(rb"(?i)epoch|step|iter|batch|updat|episode|round")
_MEASURED = re.compile(rb"(?i)loss|acc|reward|return|score|error|time|best|elapsed|progress")
_MOST = 16
_LEAST = 3
"""Lines that come again by no chance."""


class PrintedSettings:
    """The settings above the first record, and which of them came again since the last one."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._lines = {line.encode("latin-1"): count for line, count in state.get("lines", ())}
        self._found: set[int] = set(state.get("found", ()))

    def state(self) -> dict[str, Any]:
        """What later lines are compared with, as JSON-able values."""
        if not self._lines:
            return {}
        lines = [[line.decode("latin-1"), count] for line, count in self._lines.items()]
        found = {"found": sorted(self._found)} if self._found else {}
        return {"lines": lines, **found}

    def count(self, line: bytes) -> None:
        """Note a line above the first record."""
        match = _SETTING.fullmatch(line)
        if match is None:
            return
        name = match["option"] or match["name"]
        if _MEASURED.search(name) or (_COUNTS.search(name) and not _AMOUNT.search(name)):
            return
        if line in self._lines or len(self._lines) < _MOST:
            self._lines[line] = self._lines.get(line, 0) + 1

    def note_first_record(self, others: int) -> None:
        """The first record was read: forget what shows nothing. So many `others` of the opening lines do."""
        self._lines = {line: count for line, count in self._lines.items() if count == 1}
        if others >= _LEAST or others + len(self._lines) < _LEAST:
            self._lines = {}

    def search(self, block: bytes, begin: int, end: int) -> None:
        """Note which of the settings a part of a block has."""
        if not self.may_be_in(block, begin, end):
            return
        for number, line in enumerate(self._lines):
            if number not in self._found and _has_line(block, line, begin, end):
                self._found.add(number)

    def may_be_in(self, block: bytes, begin: int, end: int) -> bool:
        """Whether a part of a block has the first of the settings, or another one may follow."""
        first = next(iter(self._lines), None)
        return first is not None and (bool(self._found) or block.find(first, begin, end) >= 0)

    @property
    def came_again(self) -> bool:
        """Whether all of them came again."""
        return bool(self._lines) and len(self._found) == len(self._lines)

    def drop(self) -> None:
        """Forget them: they come with each record."""
        self._lines = {}
        self.forget()

    def forget(self) -> None:
        """Forget which of them came again."""
        self._found.clear()


def _has_line(block: bytes, line: bytes, begin: int, end: int) -> bool:
    """Whether a part of a block has a line."""
    while (at := block.find(line, begin, end)) >= 0:
        begin = at + len(line)
        if block[begin : begin + 1] in (b"\n", b"\r", b"") and (not at or block[at - 1 : at] in b"\r\n"):
            return True
    return False
