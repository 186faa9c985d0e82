"""Searches for many patterns in one pass over a text, and for the lines that match a dialect's patterns."""

from __future__ import annotations

import re
from collections import deque
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

        A line is of the first kind whose pattern matches it. A carriage return ends a line, too, so that what
        is found does not depend on where blocks begin.
        """
        matches: dict[int, tuple[int, LineKind]] = {}
        if b"\r" in block:
            block = block.replace(b"\r", b"\n")
        for kind in self.candidates(block):
            line_end = 0
            for match in kind.pattern.finditer(block):
                position = match.start()
                if position < line_end:  # the same line again; looking for its ends each time is quadratic
                    continue
                start = block.rfind(b"\n", line_end, position) + 1
                line_end = block.find(b"\n", match.end())
                line_end = len(block) if line_end < 0 else line_end
                if start not in matches:
                    matches[start] = (line_end, kind)
        for start in sorted(matches):
            end, kind = matches[start]
            yield start, block[start:end], kind


class BlockSearch:
    """The matching lines of consecutive blocks, of which a caller may parse only the first part.

    What was found behind that part is used again, so that a text with many launches is searched once.
    """

    def __init__(self, matcher: LineMatcher) -> None:
        self._matcher = matcher
        self._ahead: deque[tuple[int, bytes, LineKind]] = deque()
        self._rest, self._rest_begin = b"", 0

    def lines(self, block: bytes, begin: int) -> Iterator[tuple[int, bytes, LineKind]]:
        """The matching lines of a block at byte `begin` of a text; see `LineMatcher.lines`."""
        known = self._rest if begin == self._rest_begin and block.startswith(self._rest) else b""
        if not known:
            self._ahead.clear()
        start_of_new = len(known)
        for start, line, kind in self._matcher.lines(block[start_of_new:]):
            self._ahead.append((begin + start_of_new + start, line, kind))
        self._rest = b""
        while self._ahead:
            position, line, kind = self._ahead.popleft()
            yield position - begin, line, kind

    def stop(self, rest: bytes, begin: int) -> None:
        """Remember the lines not used yet for the next block, which begins with `rest` at byte `begin`."""
        if rest.endswith((b"\n", b"\r")):  # not in the middle of a line
            self._rest, self._rest_begin = rest, begin


@lru_cache(maxsize=256)
def line_matcher(kinds: tuple[LineKind, ...]) -> LineMatcher:
    """The matcher of these kinds; cached, since thousands of files are read with the same."""
    return LineMatcher(kinds)


@lru_cache(maxsize=256)
def signature_set(dialects: tuple[ConsoleDialect, ...]) -> PatternSet:
    """The signatures of these dialects as one set; cached likewise."""
    return PatternSet([dialect.signature for dialect in dialects])
