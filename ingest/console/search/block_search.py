"""Finds the lines of a block of text that a dialect knows, in their order."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import NamedTuple

from holter.ingest.console.dialect import LineKind, LinesOfProcess, LineTable
from holter.ingest.console.layouts.line_layouts import LineLayout
from holter.ingest.console.search.layout_index import KnownLines, LayoutIndex
from holter.ingest.console.search.pattern_search import PatternSet, candidates
from holter.ingest.console.search.text_parts import Place, TextParts, places_between
from holter.ingest.console.text.line_ends import with_newlines
from holter.ingest.console.text.messages import LineTexts, texts_in_place
from holter.ingest.lines import line_around
from holter.types import Labels

_SHARE_SEARCHED_AGAIN = 0.5
"""Of a block, in which fewer kinds may match than in all of it: that is told by one search for all."""


class FoundLine(NamedTuple):
    """A line that a kind's pattern matches, and where it begins."""

    start: int
    line: bytes
    kind: LineKind


TablePart = tuple[LineTable, int, int, LineKind]


_kind = itemgetter(3)


class FoundTable(NamedTuple):
    """Lines of known layouts below one another, which begin and end at some bytes after `offset`.

    `parts` are the lines of one layout each: the table with them, the first of them in it and the one behind
    the last, and their kind. Other text that no kind knows is right above the lines with the numbers `gaps`.
    """

    start: int
    offset: int
    parts: list[TablePart]
    starts: list[int]
    ends: list[int]
    gaps: Sequence[int] = ()

    @property
    def kinds(self) -> Collection[LineKind]:
        """The kinds of the lines."""
        kinds = [*map(_kind, self.parts)]
        return dict(zip(map(id, kinds), kinds, strict=True)).values()  # their own hash takes longer

    @property
    def process(self) -> Labels:
        """The labels in the prefix of the first line."""
        table, begin, end, _ = self.parts[0]
        return table.by_process(begin, end)[0][2]

    def by_process(self) -> list[LinesOfProcess]:
        """The lines in parts with the same table and the same labels in their prefixes."""
        return [
            (table, *part) for table, begin, end, _ in self.parts for part in table.by_process(begin, end)
        ]

    def is_of(self, process: Labels) -> bool:
        """Whether all lines have these labels in their prefixes."""
        return all(labels == process for *_, labels in self.by_process())

    def kinds_of_lines(self) -> Iterator[LineKind]:
        """The kind of each line."""
        return chain.from_iterable(repeat(kind, end - begin) for _, begin, end, kind in self.parts)

    def apart(self) -> Iterator[FoundTable]:
        """The lines between two gaps each."""
        parts, at = iter(self.parts), 0
        table, begin, end, kind = next(parts)
        for first, last in zip([0, *self.gaps], [*self.gaps, len(self.starts)], strict=True):
            of_lines: list[TablePart] = []
            while at < last:
                if begin == end:
                    table, begin, end, kind = next(parts)
                lines = min(end - begin, last - at)
                of_lines.append((table, begin, begin + lines, kind))
                begin, at = begin + lines, at + lines
            starts, ends = self.starts[first:last], self.ends[first:last]
            yield FoundTable(self.offset + starts[0], self.offset, of_lines, starts, ends)

    def behind(self, lines: int) -> FoundTable | None:
        """What is behind the first lines; None if there is nothing."""
        if not lines:
            return self
        parts, position = [], 0
        for table, begin, end, kind in self.parts:
            first = max(begin, begin + lines - position)
            position += end - begin
            if first < end:
                parts.append((table, first, end, kind))
        if not parts:
            return None
        starts, ends = self.starts[lines:], self.ends[lines:]
        return FoundTable(self.offset + starts[0], self.offset, parts, starts, ends)


Found = FoundLine | FoundTable
LayoutIndexes = Mapping[LineKind, LayoutIndex]


class LineMatcher:
    """Finds the lines of some kinds in blocks of text."""

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self._kinds = tuple(dict.fromkeys(kinds))
        self._patterns = PatternSet([kind.pattern for kind in self._kinds])

    def candidates(self, texts: LineTexts) -> list[LineKind]:
        """The kinds whose patterns may match in a block, in their order."""
        return candidates(self._kinds, self._patterns, texts)

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
        return iter(_BlockLines(texts, offset, indexed, self).found(groups))


class _BlockLines:
    """The matching lines of one block."""

    def __init__(self, texts: LineTexts, offset: int, indexes: LayoutIndexes, matcher: LineMatcher) -> None:
        self._text, self._texts = texts.printed, texts
        self._offset, self._indexes = offset, indexes
        self._matcher = matcher
        self._known_lines: KnownLines | None = None
        self._kinds: dict[LineLayout, LineKind] = {}
        """Those of the layouts of known lines."""

    def found(self, groups: Sequence[tuple[LineKind, ...]]) -> list[Found]:
        """The lines of the first kinds, and those of the others between them, in their order."""
        found: list[Found] = []
        gaps = [(0, len(self._text))]
        for kinds in groups:
            index = self._indexes.get(kinds[0])
            if index is None:
                lines, gaps = self._matching(gaps, kinds)
            else:
                lines, gaps = self._known(gaps, kinds[0], index)
            found += lines
        if self._known_lines is not None:
            found += self._tables(self._known_lines, sorted(line.start - self._offset for line in found))
        found.sort(key=_start)
        return found

    def _matching(self, gaps: Sequence[Place], kinds: Sequence[LineKind]) -> tuple[list[Found], list[Place]]:
        """The lines of some kinds in some parts of the block, and what is left of these."""
        parts = TextParts(self._texts, gaps)
        if len(kinds) > 1 and parts.size <= _SHARE_SEARCHED_AGAIN * len(self._text):
            others = {*self._matcher.candidates(parts.joined)}
            kinds = [kind for kind in kinds if kind in others]
        lines: dict[int, tuple[int, LineKind]] = {}
        for kind in kinds:
            line_end = 0
            for match in parts.matches(kind):
                if match[0] < line_end:  # the same line again; looking for its ends each time is quadratic
                    continue
                start, line_end = line_around(self._text, *match, line_end)
                if start not in lines:
                    lines[start] = (line_end, kind)
        starts = sorted(lines)
        found: list[Found] = [
            FoundLine(self._offset + start, self._text[start : lines[start][0]], lines[start][1])
            for start in starts
        ]
        return found, places_between(gaps, ((start, lines[start][0] + 1) for start in starts))

    def _known(
        self, gaps: Sequence[Place], kind: LineKind, index: LayoutIndex
    ) -> tuple[list[Found], list[Place]]:
        """The same for a kind whose lines may be of known layouts."""
        known = self._known_lines = self._known_lines or KnownLines(self._text)
        index.match(known, gaps)
        unknown = known.unknown(gaps)
        parts = TextParts(self._texts, unknown)
        found: list[Found] = []
        taken: list[Place] = []
        begin = 0
        while (match := parts.first_match(kind, begin)) is not None:
            start, line_end = line_around(self._text, *match, begin)
            line, begin = self._text[start:line_end], line_end + 1
            found.append(FoundLine(self._offset + start, line, kind))
            taken.append((start, begin))
            if layouts := index.learn(line):  # lines below may be of it, too
                index.match(known, places_between(unknown, [(0, begin)]), layouts)
                unknown = known.unknown(unknown)
                parts = TextParts(self._texts, places_between(unknown, [(0, begin)]))
        self._kinds |= dict.fromkeys(known.rows.keys() - self._kinds.keys(), kind)
        return found, places_between(unknown, taken)

    def _tables(self, known: KnownLines, others: Sequence[int]) -> Iterator[FoundTable]:
        """The lines of known layouts, with one table for all lines of a layout.

        Tables end before the `others`: other lines that were found, by where they begin.
        """
        kinds, tables, begins = self._kinds, dict[LineLayout, LineTable](), dict.fromkeys(known.rows, 0)
        for layout, rows in known.rows.items():
            columns = kinds[layout].columns
            assert columns is not None, "only kinds with columns have layouts"
            if not layout.is_empty:
                tables[layout] = columns.table(layout, rows)
        have_values = {layout for layout, table in tables.items() if table.has_values}
        of_line, offset, above = known.starts, self._offset, None
        parts: list[TablePart] = []
        starts: list[int] = []
        ends: list[int] = []
        gaps: list[int] = []
        for now, first, last in known.in_order():
            if now is None and parts and not (others and _has_any(others, of_line[first], of_line[last])):
                if gaps[-1:] != [len(starts)]:
                    gaps.append(len(starts))
                continue
            # where lines of another kind begin, there are records alone around the place
            may_join = (
                now is not None
                and above is not None
                and (kinds[above] is kinds[now] or (above in have_values and now in have_values))
            )
            if parts and not may_join:
                yield FoundTable(offset + starts[0], offset, parts, starts, ends, _within(gaps, starts))
                parts, starts, ends, gaps = [], [], [], []
            above = now
            if now is None or now.is_empty:
                continue
            table, begin = tables[now], begins[now]
            begins[now] = end = begin + last - first
            if parts and parts[-1][0] is table:
                begin = parts.pop()[1]
            parts.append((table, begin, end, kinds[now]))
            if end - begin == 1:  # often so where layouts take turns
                starts.append(of_line[first])
                ends.append(of_line[last])
            else:
                starts += of_line[first:last]
                ends += of_line[first + 1 : last + 1]
        if parts:
            yield FoundTable(offset + starts[0], offset, parts, starts, ends, _within(gaps, starts))


def _has_any(places: Sequence[int], begin: int, end: int) -> bool:
    """Whether any of some places, in their order, is between two others."""
    return bisect_left(places, begin) < bisect_left(places, end)


def _within(gaps: list[int], lines: Sequence[int]) -> list[int]:
    """The gaps without one behind the last line."""
    return gaps[:-1] if gaps[-1:] == [len(lines)] else gaps


def _start(found: Found) -> int:
    return found.start


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
            found = next(self._searches[0], None)
            if found is None:
                self._searches.popleft()
            else:
                yield found

    def is_of_framework(self, line: bytes) -> bool:
        """Whether a line is of a kind that is not read by the grammar of any program's lines."""
        return any(
            isinstance(found, FoundLine) and not found.kind.any_program for found in self._matcher.lines(line)
        )

    def put_back(self, *found: Found) -> None:
        """Yield lines again, before those that follow them."""
        self._searches.appendleft(iter(found))

    def stop(self, rest: bytes, begin: int) -> None:
        """Remember the lines not used yet for the next block, which begins with `rest` at byte `begin`."""
        if rest.endswith((b"\n", b"\r")):  # not in the middle of a line
            self._rest, self._rest_begin = rest, begin


@lru_cache(maxsize=256)
def line_matcher(kinds: tuple[LineKind, ...]) -> LineMatcher:
    """The matcher of these kinds; cached, since thousands of files are read with the same."""
    return LineMatcher(kinds)
