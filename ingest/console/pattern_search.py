"""Searches for many patterns in one pass over a text, and for the lines that match a dialect's patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from holter.ingest.console.dialect import ConsoleDialect, LineKind

_BOUNDS = re.compile(rb"(?<!\\)\{([01]),\d{2,4}\}\??")


class PatternSet:
    """Finds out which of some patterns may match a text, by one automaton of all of them.

    Searching for each pattern by itself takes a pass over the text per pattern; there are dozens, and most
    texts match one or none. A pattern that RE2 cannot express (one with a look-ahead, or an object that is no
    pattern) may match anywhere.
    """

    def __init__(self, patterns: Sequence[object]) -> None:
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._set: Any = re2.Set.SearchSet(options)
        self._members: list[int] = []
        self._others: list[int] = []
        for index, pattern in enumerate(patterns):
            (self._members if self._add(pattern) else self._others).append(index)
        if self._members:
            self._set.Compile()

    def _add(self, pattern: object) -> bool:
        if not isinstance(pattern, re.Pattern):
            return False
        if pattern.flags and not pattern.pattern.startswith(b"(?"):  # flags that its text does not contain
            return False
        try:
            self._set.Add(_without_bounds(pattern.pattern))
        except re2.error:
            return False
        return True

    def candidates(self, text: bytes) -> list[int]:
        """The indices of the patterns that may match a text, ascending; none that matches is missing."""
        matched = (self._set.Match(text) or ()) if self._members else ()
        return sorted([*(self._members[member] for member in matched), *self._others])


def _without_bounds(pattern: bytes) -> bytes:
    """A pattern with `*` and `+` for high numbers of repetitions, which make an automaton large.

    It matches wherever the pattern does, and may match where that does not.
    """
    return _BOUNDS.sub(lambda bounds: b"*" if bounds[1] == b"0" else b"+", pattern)


class LineMatcher:
    """Finds the lines of some kinds in blocks of text."""

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self._kinds = tuple(kinds)
        self._patterns = PatternSet([kind.pattern for kind in self._kinds])

    def candidates(self, block: bytes) -> list[LineKind]:
        """The kinds whose patterns may match in a block, in their order."""
        return [self._kinds[index] for index in self._patterns.candidates(block)]

    def lines(self, block: bytes) -> Iterator[tuple[int, bytes, LineKind]]:
        """The matching lines of a block in their order: where each begins, its bytes, and its kind.

        A line is of the first kind whose pattern matches it.
        """
        matches: dict[int, tuple[int, LineKind]] = {}
        overwrites = b"\r" in block
        for kind in self.candidates(block):
            for match in kind.pattern.finditer(block):
                position = match.start()
                start = block.rfind(b"\n", 0, position) + 1
                if overwrites:
                    start = max(start, block.rfind(b"\r", start, position) + 1)
                if start not in matches:
                    end = block.find(b"\n", match.end())
                    matches[start] = (len(block) if end < 0 else end, kind)
        for start in sorted(matches):
            end, kind = matches[start]
            stop = block.find(b"\r", start, end) if overwrites else -1
            yield start, block[start : end if stop < 0 else stop], kind


@lru_cache(maxsize=256)
def line_matcher(kinds: tuple[LineKind, ...]) -> LineMatcher:
    """The matcher of these kinds; cached, since thousands of files are read with the same."""
    return LineMatcher(kinds)


@lru_cache(maxsize=256)
def signature_set(dialects: tuple[ConsoleDialect, ...]) -> PatternSet:
    """The signatures of these dialects as one set; cached likewise."""
    return PatternSet([dialect.signature for dialect in dialects])
