"""Searches for many patterns in one pass over a text, and for the lines that match a dialect's patterns."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import re2  # type: ignore[import-untyped]

from holter.ingest.console.dialect import ConsoleDialect, LineKind, LineTable, TextMatch, TextPattern
from holter.ingest.console.layout_index import KnownLines, LayoutIndex
from holter.ingest.console.line_ends import with_newlines
from holter.ingest.console.line_layouts import LineLayout
from holter.ingest.console.messages import LineTexts, texts_in_place
from holter.ingest.lines import line_around

_Searching = TypeVar("_Searching", LineKind, ConsoleDialect)
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
    return options


def _without_bounds(pattern: bytes) -> bytes:
    """A pattern with `*` and `+` for high numbers of repetitions, which make an automaton large.

    It matches wherever the pattern does, and may match where that does not.
    """
    return _BOUNDS.sub(lambda bounds: b"*" if bounds[1] == b"0" else b"+", pattern)


class LinearPattern:
    """A pattern that RE2 searches.

    Where it has many alternatives and most of a text matches none, that is ten times as fast as `re`.
    """

    def __init__(self, pattern: bytes) -> None:
        self.pattern = pattern
        self._compiled = re2.compile(pattern, _options())

    def finditer(self, string: bytes, begin: int = 0, end: int | None = None, /) -> Iterator[TextMatch]:
        """All matches from `begin` to `end`, in their order."""
        matches: Iterator[TextMatch] = self._compiled.finditer(string, begin, end)
        return matches

    def search(self, string: bytes, begin: int = 0, end: int | None = None, /) -> TextMatch | None:
        """The first match from `begin` to `end`."""
        match: TextMatch | None = self._compiled.search(string, begin, end)
        return match


class FoundLine(NamedTuple):
    """A line that a kind's pattern matches, and where it begins."""

    start: int
    line: bytes
    kind: LineKind


class FoundTable(NamedTuple):
    """Lines of known layouts below one another, which begin and end at some bytes after `offset`.

    `parts` are the lines of one layout each: the table with them, and the first and the last of them in it.
    """

    start: int
    offset: int
    parts: list[tuple[LineTable, int, int]]
    starts: list[int]
    ends: list[int]
    kind: LineKind

    def behind(self, lines: int) -> FoundTable | None:
        """What is behind the first lines; None if there is nothing."""
        if not lines:
            return self
        parts, position = [], 0
        for table, begin, end in self.parts:
            first = max(begin, begin + lines - position)
            position += end - begin
            if first < end:
                parts.append((table, first, end))
        if not parts:
            return None
        starts, ends = self.starts[lines:], self.ends[lines:]
        return FoundTable(self.offset + starts[0], self.offset, parts, starts, ends, self.kind)


Found = FoundLine | FoundTable
LayoutIndexes = Mapping[LineKind, LayoutIndex]


class LineMatcher:
    """Finds the lines of some kinds in blocks of text."""

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self._kinds = tuple(dict.fromkeys(kinds))
        self._patterns = PatternSet([kind.pattern for kind in self._kinds])

    def candidates(self, texts: LineTexts) -> list[LineKind]:
        """The kinds whose patterns may match in a block, in their order."""
        return _candidates(self._kinds, self._patterns, texts)

    def lines(
        self,
        block: bytes,
        offset: int = 0,
        indexes: LayoutIndexes | None = None,
        texts: LineTexts | None = None,
    ) -> Iterator[Found]:
        """The matching lines of a block in their order; `texts` are those of its lines, if they are known.

        A line is of the first kind whose pattern matches it. A carriage return ends a line, too, so that what
        is found does not depend on where blocks begin. `offset` is added to positions. Of kinds that have an
        index, lines of known layouts come as parts of tables, and the other lines are learnt.
        """
        if texts is None:
            texts = texts_in_place(with_newlines(block))
        indexed = indexes or {}
        groups = [tuple(group) for _, group in groupby(self.candidates(texts), key=indexed.get)]
        return iter(_BlockLines(texts.printed, texts, offset, indexed).found(groups))


class _BlockLines(NamedTuple):
    """The matching lines of one block."""

    text: bytes
    texts: LineTexts
    offset: int
    indexes: LayoutIndexes

    def found(self, groups: Sequence[tuple[LineKind, ...]]) -> list[Found]:
        """The lines of the first kinds, and those of the others between them, in their order."""
        found: list[Found] = []
        gaps = [(0, len(self.text))]
        for kinds in groups:
            index = self.indexes.get(kinds[0])
            if index is None:
                lines, gaps = self._matching(gaps, kinds)
            else:
                lines, gaps = self._known(gaps, kinds[0], index)
            found += lines
        if len(groups) > 1:
            found.sort(key=_start)
        return found

    def _matching(
        self, gaps: Sequence[tuple[int, int]], kinds: Sequence[LineKind]
    ) -> tuple[list[Found], list[tuple[int, int]]]:
        """The lines of some kinds in some parts of the block, and what is left of these."""
        found: list[Found] = []
        rest: list[tuple[int, int]] = []
        for begin, end in gaps:
            matches: dict[int, tuple[int, LineKind]] = {}
            for kind in kinds:
                line_end = begin
                for match in _matches(kind.pattern, kind.searched(self.texts), begin, end):
                    if (
                        match[0] < line_end
                    ):  # the same line again; looking for its ends each time is quadratic
                        continue
                    start, line_end = line_around(self.text, *match, line_end)
                    if start not in matches:
                        matches[start] = (line_end, kind)
            for start in sorted(matches):
                line_end, kind = matches[start]
                if start > begin:
                    rest.append((begin, start))
                found.append(FoundLine(self.offset + start, self.text[start:line_end], kind))
                begin = max(begin, line_end + 1)
            if begin < end:
                rest.append((begin, end))
        return found, rest

    def _known(
        self, gaps: Sequence[tuple[int, int]], kind: LineKind, index: LayoutIndex
    ) -> tuple[list[Found], list[tuple[int, int]]]:
        """The same for a kind whose lines may be of known layouts."""
        found: list[KnownLines | FoundLine] = []
        rest: list[tuple[int, int]] = []
        for begin, end in gaps:
            for start, line_end, lines in self._lines_of(begin, end, kind, index):
                if start > begin:
                    rest.append((begin, start))
                found.append(lines)
                begin = line_end
            if begin < end:
                rest.append((begin, end))
        return list(self._tables(found, kind)), rest

    def _lines_of(
        self, begin: int, end: int, kind: LineKind, index: LayoutIndex
    ) -> Iterator[tuple[int, int, KnownLines | FoundLine]]:
        """Where lines of a kind begin, where the lines behind them do, and the lines."""
        while begin < end:
            known = index.lines(self.text, begin, end)
            if known is None:
                match = next(_matches(kind.pattern, kind.searched(self.texts), begin, end), None)
                if match is None:
                    return
                start, line_end = line_around(self.text, *match, begin)
                known = index.lines(self.text, start, end) if start > begin else None
                if known is None:
                    line, begin = self.text[start:line_end], line_end + 1
                    index.learn(line)
                    yield start, begin, FoundLine(self.offset + start, line, kind)
                    continue
            begin = known.end
            yield known.begin, begin, known

    def _tables(self, found: Sequence[KnownLines | FoundLine], kind: LineKind) -> Iterator[Found]:
        """What was found, with one table for all lines of a layout."""
        assert kind.columns is not None, "only kinds with columns have layouts"
        rows: dict[LineLayout, list[tuple[bytes, ...]]] = {}
        for lines in found:
            if isinstance(lines, KnownLines):
                for layout, first, last in lines.parts:
                    of_layout = rows.get(layout)
                    if of_layout is None:
                        rows[layout] = lines.rows[first:last]
                    else:
                        of_layout += lines.rows[first:last]
        tables = {layout: kind.columns.table(layout, of_layout) for layout, of_layout in rows.items()}
        positions = dict.fromkeys(rows, 0)
        for lines in found:
            if not isinstance(lines, KnownLines):
                yield lines
            elif lines.rows:
                parts = []
                for layout, first, last in lines.parts:
                    begin = positions[layout]
                    positions[layout] = end = begin + last - first
                    parts.append((tables[layout], begin, end))
                start = self.offset + lines.starts[0]
                yield FoundTable(start, self.offset, parts, lines.starts, lines.ends, kind)


def _start(found: Found) -> int:
    return found.start


def _matches(pattern: TextPattern, text: bytes, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the matches of a pattern in the part of a text begin and end."""
    if isinstance(pattern, re.Pattern | LinearPattern):
        yield from ((match.start(), match.end()) for match in pattern.finditer(text, begin, end))
    else:
        part = text if begin == 0 and end == len(text) else text[begin:end]
        yield from ((begin + match.start(), begin + match.end()) for match in pattern.finditer(part))


class BlockSearch:
    """The matching lines of consecutive blocks, of which a caller may parse only the first part.

    What was found behind that part is used again, so that a text with many launches is searched once.
    """

    def __init__(self, kinds: tuple[LineKind, ...]) -> None:
        self._matcher = line_matcher(kinds)
        self._indexes = {
            kind: LayoutIndex(kind.columns.layout_of) for kind in kinds if kind.columns is not None
        }
        self._searches: deque[Iterator[Found]] = deque()
        self._rest, self._rest_begin = b"", 0
        self.messages = b""
        """The messages of the lines of the block, each where its line begins."""

    def begin_block(self, block: bytes, begin: int) -> None:
        """Search a block at byte `begin` of a text."""
        known = self._rest if begin == self._rest_begin and block.startswith(self._rest) else b""
        if not known:
            self._searches.clear()
        new, position = block[len(known) :], begin + len(known)
        texts = texts_in_place(with_newlines(new))
        rest = self.messages[len(self.messages) - len(known) :]
        self.messages = rest + texts.messages if known else texts.messages
        self._searches.append(self._matcher.lines(new, position, self._indexes, texts))
        self._rest = b""

    def lines(self) -> Iterator[Found]:
        """The matching lines of the block; see `LineMatcher.lines`."""
        while self._searches:
            for found in self._searches[0]:  # noqa: UP028 (`yield from` would end it with this generator)
                yield found
            self._searches.popleft()

    def is_of_framework(self, line: bytes) -> bool:
        """Whether a line is of a kind that is not read by the grammar of any program's lines."""
        return any(
            isinstance(found, FoundLine) and not found.kind.any_program for found in self._matcher.lines(line)
        )

    def put_back(self, found: Found) -> None:
        """Yield a line again, before those that follow it; `stop` is called next."""
        self._searches.appendleft(iter((found,)))

    def stop(self, rest: bytes, begin: int) -> None:
        """Remember the lines not used yet for the next block, which begins with `rest` at byte `begin`."""
        if rest.endswith((b"\n", b"\r")):  # not in the middle of a line
            self._rest, self._rest_begin = rest, begin


@lru_cache(maxsize=256)
def line_matcher(kinds: tuple[LineKind, ...]) -> LineMatcher:
    """The matcher of these kinds; cached, since thousands of files are read with the same."""
    return LineMatcher(kinds)


def possible_dialects(dialects: tuple[ConsoleDialect, ...], texts: LineTexts) -> list[ConsoleDialect]:
    """The dialects whose signatures may match a text, in their order."""
    return _candidates(dialects, _signature_set(dialects), texts)


def _candidates(searching: Sequence[_Searching], patterns: PatternSet, texts: LineTexts) -> list[_Searching]:
    """Of some things the ones whose patterns may match the text that they are searched for in."""
    if texts.are_same:
        return [searching[index] for index in patterns.candidates(texts.printed)]
    found = _candidates_by_text(patterns, texts)
    return [each for index, each in enumerate(searching) if index in found[each.searched(texts)]]


def _candidates_by_text(patterns: PatternSet, texts: LineTexts) -> dict[bytes, set[int]]:
    return {text: {*patterns.candidates(text)} for text in {*texts}}


@lru_cache(maxsize=256)
def _signature_set(dialects: tuple[ConsoleDialect, ...]) -> PatternSet:
    """The signatures of these dialects as one set; cached likewise."""
    return PatternSet([dialect.signature for dialect in dialects])
