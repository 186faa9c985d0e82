"""Searches for many patterns in one pass over a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import re2  # type: ignore[import-untyped]

from holter.ingest.console.dialect import ConsoleDialect, LineKind, TextMatch, TextPattern
from holter.ingest.console.text.messages import LineTexts

_Searching = TypeVar("_Searching", LineKind, ConsoleDialect)
_AUTOMATON_BYTES = 64 * 2**20
"""Memory of the automaton of one pattern: with less, large ones search running text at 1 MB/s, not at 40."""
_BOUNDS = re.compile(rb"(?<!\\)\{([01]),\d{2,4}\}\??")


class PatternSet:
    """Finds out which of some patterns may match a text, by one automaton of all of them.

    Searching for each pattern by itself takes a pass over the text per pattern; there are dozens, and most
    texts match one or none. A pattern that RE2 cannot express (one with a look-ahead, or an object that is no
    pattern) may match anywhere.
    """

    def __init__(self, patterns: Sequence[object]) -> None:
        self._set: Any = re2.Set.SearchSet(_options())
        self._members: list[int] = []
        self._others: list[int] = []
        for index, pattern in enumerate(patterns):
            (self._members if self._add(pattern) else self._others).append(index)
        if self._members:
            self._set.Compile()

    def _add(self, pattern: object) -> bool:
        if not isinstance(pattern, re.Pattern | LinearPattern):
            return False
        flags = pattern.flags if isinstance(pattern, re.Pattern) else 0
        if flags and not pattern.pattern.startswith(b"(?"):  # flags that its text does not contain
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


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
    options.log_errors = False
    options.max_mem = _AUTOMATON_BYTES
    return options


def _without_bounds(pattern: bytes) -> bytes:
    """A pattern with `*` and `+` for high numbers of repetitions, which make an automaton large.

    It matches wherever the pattern does, and may match where that does not.
    """
    return _BOUNDS.sub(lambda bounds: b"*" if bounds[1] == b"0" else b"+", pattern)


class LinearPattern:
    """A pattern that RE2 searches.

    Where it has many alternatives and most of a text matches none, that is ten times as fast as `re`. A text
    is searched for a pattern without bounds first: in running text the automaton of a large one with bounds
    outgrows its memory, and takes a hundred times as long.
    """

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self._compiled = re2.compile(pattern, _options())
        unbounded = _without_bounds(pattern)
        self._unbounded = re2.compile(unbounded, _options()) if unbounded != pattern else self._compiled

    def finditer(self, string: bytes, begin: int = 0, end: int | None = None, /) -> Iterator[TextMatch]:
        """All matches from `begin` to `end`, in their order."""
        if (first := self._unbounded.search(string, begin, end)) is not None:
            yield from self._compiled.finditer(string, first.start(), end)

    def search(self, string: bytes, begin: int = 0, end: int | None = None, /) -> TextMatch | None:
        """The first match from `begin` to `end`."""
        first: TextMatch | None = self._unbounded.search(string, begin, end)
        if first is not None and self._unbounded is not self._compiled:
            first = self._compiled.search(string, first.start(), end)
        return first


def matches(pattern: TextPattern, text: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the matches of a pattern in the part of a text begin and end."""
    if isinstance(pattern, re.Pattern | LinearPattern):
        yield from ((match.start(), match.end()) for match in pattern.finditer(text, begin, end))
    else:
        part = text if begin == 0 and end == len(text) else text[begin:end]
        yield from ((begin + match.start(), begin + match.end()) for match in pattern.finditer(part))


def possible_dialects(dialects: tuple[ConsoleDialect, ...], texts: LineTexts) -> list[ConsoleDialect]:
    """The dialects whose signatures may match a text, in their order."""
    return candidates(dialects, _signature_set(dialects), texts)


def candidates(searching: Sequence[_Searching], patterns: PatternSet, texts: LineTexts) -> list[_Searching]:
    """Of some things the ones whose patterns may match the text that they are searched for in."""
    if texts.are_same:
        return [searching[index] for index in patterns.candidates(texts.printed)]
    found = _candidates_by_text(patterns, texts)
    return [each for index, each in enumerate(searching) if index in found[id(each.searched(texts))]]


def _candidates_by_text(patterns: PatternSet, texts: LineTexts) -> dict[int, set[int]]:
    """The candidates in each text, by its identity: a hash takes a good part of the time of a search."""
    found: dict[int, set[int]] = {}
    for text in texts:
        if id(text) not in found:
            found[id(text)] = {*patterns.candidates(text)}
    return found


@lru_cache(maxsize=256)
def _signature_set(dialects: tuple[ConsoleDialect, ...]) -> PatternSet:
    """The signatures of these dialects as one set; cached likewise."""
    return PatternSet([dialect.signature for dialect in dialects])
