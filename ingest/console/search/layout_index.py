"""The layouts of the lines of one text, learnt as its lines come."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby
from typing import Any

from holter.ingest.console.layouts.layout_prefixes import LinePrefix
from holter.ingest.console.layouts.line_layouts import LineLayout
from holter.ingest.console.search.text_parts import Place

_NUMBER_CHARACTERS = b"0123456789.+-eE"
_MIN_LINES = 4
"""Lines that look alike after which their layout is made: that takes as long as parsing twenty."""
_MAX_LAYOUTS = 8
"""Layouts of lines that look alike, e.g. since the digits of their times vary."""
_MAX_KEYS = 512
_EMPTY = LineLayout(re.compile(b"\n"), LinePrefix(0, (), "", ""), content=None, is_empty=True)
"""That of an empty line."""

Layouts = Mapping[int, Sequence[LineLayout]]
"""The layouts of lines, by what those that look alike have in common."""


@dataclass(slots=True)
class _Alike:
    """Lines that are the same without the characters of numbers."""

    lines: int = 0
    attempts: int = 0

    def is_due(self) -> bool:
        """Whether enough lines were seen to make a layout; ever more if many lines have another one."""
        return self.lines >= _MIN_LINES << max(self.attempts - _MAX_LAYOUTS, 0)


class KnownLines:
    """The lines of a text, and which of them are of known layouts."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._has_known = False
        self.rows: dict[LineLayout, list[tuple[bytes, ...]]] = {}
        """The groups of a layout's pattern in each of its lines; maybe of none that hold nothing."""

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and where one behind the last would."""
        return [0, *accumulate(map((1).__add__, self._sizes))]

    @cached_property
    def _sizes(self) -> list[int]:
        """The bytes of each line without its end, the last one is behind the last end of a line."""
        return [*map(len, self._text.split(b"\n"))]

    @cached_property
    def _keys(self) -> list[int]:
        """What lines that look alike have in common."""
        return list(map(hash, self._text.translate(None, _NUMBER_CHARACTERS).split(b"\n")))

    @cached_property
    def layouts(self) -> list[LineLayout | None]:
        """That of each line, None if it is not known. An empty line belongs to the one above."""
        return [None] * (len(self.starts) - 1)

    def _numbers(self, place: Place) -> range:
        """The lines of a part of the text."""
        return range(bisect_left(self.starts, place[0]), bisect_left(self.starts, place[1]))

    def alike(self, places: Sequence[Place], keys: Collection[int]) -> dict[int, list[int]]:
        """The lines in some parts of the text, by what those that look alike have in common."""
        found: dict[int, list[int]] = {key: [] for key in keys}
        of_key = found.get
        numbers = [*chain.from_iterable(map(self._numbers, places))]
        of_lines = [*map(self._keys.__getitem__, numbers)]
        if len({*of_lines}) == 1:
            return {key: numbers for key in of_lines[:1] if key in found}
        for number, key in zip(numbers, of_lines, strict=True):
            if (alike := of_key(key)) is not None:
                alike.append(number)
        return {key: alike for key, alike in found.items() if alike}

    def add(self, numbers: Sequence[int], layouts: Sequence[LineLayout]) -> None:
        """Note which of some lines are of these layouts: each is of the first that matches it."""
        self._has_known = True
        for layout in layouts:
            if (rows := self._rows(numbers, layout)) is not None:
                matched = numbers
            elif matches := self._matches(numbers, layout):
                matched, rows = [number for number, _ in matches], [row for _, row in matches]
                others = {*matched}
                numbers = [number for number in numbers if number not in others]
            else:
                continue
            self.rows.setdefault(layout, []).extend(rows)
            of_lines = self.layouts
            for number in matched:
                of_lines[number] = layout
            if self._has_empty:
                self._add_empty_behind(matched)
            if matched is numbers:
                return

    def _rows(self, numbers: Sequence[int], layout: LineLayout) -> list[tuple[bytes, ...]] | None:
        """The groups of a layout's pattern in each of some lines; None if it does not match all."""
        text, starts = self._text, self.starts
        if len(numbers) == numbers[-1] + 1 - numbers[0]:
            text = text[starts[numbers[0]] : starts[numbers[-1] + 1]]
        else:
            text = b"".join([text[starts[number] : starts[number + 1]] for number in numbers])
        if layout.is_empty:
            return [] if layout.pattern.fullmatch(text) is not None else None
        rows: list[Any] = layout.pattern.findall(text)
        if len(rows) != len(numbers):
            return None
        groups = layout.pattern.groups
        return rows if groups > 1 else [(row,)[:groups] for row in rows]

    def _matches(self, numbers: Sequence[int], layout: LineLayout) -> list[tuple[int, tuple[bytes, ...]]]:
        """Those of some lines that a layout matches, with the groups of its pattern."""
        text, starts, match = self._text, self.starts, layout.pattern.match
        found = [(number, match(text, starts[number], starts[number + 1])) for number in numbers]
        return [(number, each.groups()) for number, each in found if each is not None]

    @cached_property
    def _has_empty(self) -> bool:
        return 0 in self._sizes[:-1]

    def _add_empty_behind(self, numbers: Sequence[int]) -> None:
        """Note that empty lines belong to the known lines above them."""
        starts, layouts = self.starts, self.layouts
        for number in numbers:
            if starts[number + 1 : number + 3] == [starts[number + 1], starts[number + 1] + 1]:
                layouts[number + 1] = _EMPTY

    def unknown(self, places: Sequence[Place]) -> list[Place]:
        """What is left of some parts of the text without known lines."""
        if not self._has_known:
            return [*places]
        left: list[Place] = []
        starts, layouts = self.starts, self.layouts
        for place in places if None in layouts else ():
            lines = [number for number in self._numbers(place) if layouts[number] is None]
            if not lines:
                continue
            first = behind = lines[0]
            for number in lines:
                if number != behind:  # known lines are between
                    left.append((starts[first], starts[behind]))
                    first = number
                behind = number + 1
            left.append((starts[first], min(starts[behind], place[1])))
        return left

    def in_order(self) -> Iterator[tuple[LineLayout | None, int, int]]:
        """The layout of lines below one another, None where none is known, the first line and the one behind.

        Empty lines below known ones are left out.
        """
        number = 0
        for layout, lines in groupby(self.layouts) if self._has_known else ():
            first, number = number, number + len([*lines])
            if layout is not _EMPTY:
                yield layout, first, number


class LayoutIndex:
    """Finds lines of known layouts; lines that it is shown become known."""

    def __init__(self, layout_of: Callable[[bytes], LineLayout | None]) -> None:
        self._layout_of = layout_of
        self._alike: dict[int, _Alike] = {}
        self._layouts: dict[int, list[LineLayout]] = {}
        """Those of lines that look alike."""

    def learn(self, line: bytes) -> Layouts:
        """Count a line that had to be parsed by itself, and make a layout of it if there are several.

        Returns the layout that was made, if any.
        """
        key = _key(line)
        if key not in self._alike and len(self._alike) >= _MAX_KEYS:
            self._alike.clear()
            self._layouts.clear()
        alike = self._alike.setdefault(key, _Alike())
        alike.lines += 1
        if not alike.is_due():
            return {}
        alike.lines = 0
        alike.attempts += 1
        layout = self._layout_of(line)
        if layout is None:
            return {}
        self._layouts[key] = [layout, *self._layouts.get(key, ())][:_MAX_LAYOUTS]
        return {key: [layout]}

    def match(self, lines: KnownLines, places: Sequence[Place], layouts: Layouts | None = None) -> None:
        """Find the lines of known layouts, or of some of them, in parts of a text without known lines."""
        layouts = self._layouts if layouts is None else layouts
        if layouts:
            for key, numbers in lines.alike(places, layouts).items():
                lines.add(numbers, layouts[key])


def _key(line: bytes) -> int:
    return hash(line.translate(None, _NUMBER_CHARACTERS))
