"""Lines in the same words as others in which nothing was found, which are passed over.

Programs print thousands of lines that differ in their digits alone: names of files, ids, addresses. To read
one costs a hundred times as much as to look up its words.
"""

from __future__ import annotations

from collections import Counter

_DIGITS = b"0123456789"
_NO_DIGITS = str.maketrans("", "", _DIGITS.decode())
_MOST_TRIED = 3
"""Lines in the same words that are read in vain."""


class PassedLines:
    """Counts lines in which nothing was found, by their text without digits."""

    def __init__(self) -> None:
        self._counts: Counter[str | bytes] = Counter()

    def has(self, line: str | bytes) -> bool:
        """Whether nothing was found in several lines in the same words."""
        return self._counts[_words(line)] >= _MOST_TRIED

    def add(self, line: str | bytes) -> None:
        """Note that nothing was found in a line."""
        self._counts[_words(line)] += 1


def _words(line: str | bytes) -> str | bytes:
    return line.translate(_NO_DIGITS) if isinstance(line, str) else line.translate(None, _DIGITS)
