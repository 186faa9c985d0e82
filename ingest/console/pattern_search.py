"""The lines of a text that bear a mark, and of which kind they are.

Many patterns searched for in one pass over a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from holter.ingest.console.dialect import ConsoleDialect, LineKind


class PatternSet:
    """Which of some patterns a text holds, by one automaton of all of them.

    A search for each by itself costs a pass over the text a pattern; there are dozens, and most texts
    hold one or none. What RE2 has no word for (a look ahead, a search that is no pattern) may be anywhere.
    """

    def __init__(self, patterns: Sequence[object]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._set: Any = re2.Set.SearchSet(options)
        self._members: list[int] = []
        self._others: list[int] = []
        for place, pattern in enumerate(patterns):
            (self._members if self._add(pattern) else self._others).append(place)
        if self._members:
            self._set.Compile()

    def _add(self, pattern: object) -> bool:
        if not isinstance(pattern, re.Pattern):
            return False
        if pattern.flags and not pattern.pattern.startswith(b"(?"):  # flags that its text does not tell
            return False
        try:
            self._set.Add(pattern.pattern)
        except re2.error:
            return False
        return True

    def within(self, text: bytes) -> list[int]:
        """Which patterns may be found in a text, by their places, ascending; none that is there lacks."""
        found = (self._set.Match(text) or ()) if self._members else ()
        return sorted([*(self._members[member] for member in found), *self._others])


class LineMatcher:
    """The marks of some kinds of lines."""

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self._kinds = tuple(kinds)
        self._searched = PatternSet([kind.pattern for kind in self._kinds])

    def within(self, block: bytes) -> list[LineKind]:
        """The kinds whose marks may be found in a block, in their order."""
        return [self._kinds[place] for place in self._searched.within(block)]

    def lines(self, block: bytes) -> Iterator[tuple[int, bytes, LineKind]]:
        """Where the lines of a block begin that bear a mark, in their order, with themselves and their kind.

        A line is of the first kind whose mark it bears.
        """
        found: dict[int, tuple[int, LineKind]] = {}
        overwrites = b"\r" in block
        for kind in self.within(block):
            for mark in kind.pattern.finditer(block):
                at = mark.start()
                start = block.rfind(b"\n", 0, at) + 1
                if overwrites:
                    start = max(start, block.rfind(b"\r", start, at) + 1)
                if start not in found:
                    end = block.find(b"\n", mark.end())
                    found[start] = (len(block) if end < 0 else end, kind)
        for start in sorted(found):
            end, kind = found[start]
            stop = block.find(b"\r", start, end) if overwrites else -1
            yield start, block[start : end if stop < 0 else stop], kind


@lru_cache(maxsize=256)
def line_matcher(kinds: tuple[LineKind, ...]) -> LineMatcher:
    """The marks of these kinds, made once: thousands of files are read with the same."""
    return LineMatcher(kinds)


@lru_cache(maxsize=256)
def signature_set(dialects: tuple[ConsoleDialect, ...]) -> PatternSet:
    """What tells these dialects, likewise."""
    return PatternSet([dialect.signature for dialect in dialects])
