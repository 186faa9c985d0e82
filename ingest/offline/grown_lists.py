"""Reads lines that repeat the values of all steps so far, as `print(losses)` in a loop writes them.

`Epoch 3 losses: [2.5, 2.25, 2.0]` below `Epoch 2 losses: [2.5, 2.25]`: what is new in a list is that of its
line. For a file that was given by hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import ClassVar

from holter.ingest.offline.numbered_rows import NumberedRows
from holter.ingest.offline.whole_file import WholeFile
from holter.types import Batch, Unreadable

_LIST = re.compile(r"\[([-+.\deE, \t]{1,2000000})\]")
_DIGITS = re.compile(r"\d+")
_LEAST_GROWN = 3
"""Lists that begin with all values of the one before."""
_LEAST_SHARE = 0.75
"""Of the lists behind the same words."""
_LONGEST_NAME = 80


class GrownLists(WholeFile):
    """Lines of lists that grow, each with what is new in them."""

    name: ClassVar[str] = "grown-lists"

    def records(self, path: PurePath, text: str) -> Iterator[Batch | Unreadable]:
        """The rows of the text with the new values alone; nothing of a text without such lists."""
        lines = text.splitlines()
        if (shortened := without_repeats(lines)) == lines:
            return
        rewritten = "".join(f"{line}\n" for line in shortened)
        found = [*self.read_lines(path, rewritten.encode())]
        if not any(isinstance(each, Batch) and each.points for each in found):
            found = [*NumberedRows(self._lines).records(path, rewritten)]
        yield from found


def without_repeats(lines: Sequence[str]) -> list[str]:
    """The lines, in which lists that grow have their new values alone."""
    seen, grown = Counter[str](), Counter[str]()
    last: dict[str, str] = {}
    for line in lines:
        for key, values in _lists(line):
            seen[key] += 1
            grown[key] += key in last and values.startswith(last[key] + ",")
            last[key] = values
    growing = {
        key
        for key, count in grown.items()
        if count >= _LEAST_GROWN and count >= _LEAST_SHARE * (seen[key] - 1)
    }
    if not growing:
        return [*lines]
    last.clear()
    return [_shortened(line, growing, last) for line in lines]


def _lists(line: str) -> Iterator[tuple[str, str]]:
    """The lists of numbers in a line: the words before each, and its values."""
    if "[" in line:
        for found in _LIST.finditer(line):
            yield _key(line, found.start()), found[1].replace(" ", "")


def _key(line: str, begin: int) -> str:
    return _DIGITS.sub("0", line[:begin].rpartition("]")[2])[-_LONGEST_NAME:]


def _shortened(line: str, growing: set[str], last: dict[str, str]) -> str:
    def new_values(found: re.Match[str]) -> str:
        key, values = _key(line, found.start()), found[1].replace(" ", "")
        if key not in growing:
            return found[0]
        before = last.get(key, "")
        last[key] = values
        new = values[len(before) + 1 :] if before and values.startswith(before + ",") else values
        return new if "," not in new else f"[{new.replace(',', ', ')}]"

    return _LIST.sub(new_values, line) if "[" in line else line
