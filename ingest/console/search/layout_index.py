"""The layouts of the lines of one text, learnt as its lines come."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holter.ingest.console.layouts.layout_prefixes import LinePrefix
from holter.ingest.console.layouts.line_layouts import LineLayout
from holter.ingest.console.search.text_parts import Place

_NUMBER_CHARACTERS = b"0123456789.+-eE"
_MIN_LINES = 4
"""Lines that look alike after which their layout is made: that takes as long as parsing twenty."""
_MAX_LAYOUTS = 8
"""Layouts of lines that look alike, e.g. since the digits of their times vary."""
_MAX_KEYS = 512
_NEWLINE = 10
_NUMBER_OF_EMPTY = 1
_EMPTY = LineLayout(re.compile(b"\n"), LinePrefix(0, (), "", ""), content=None, is_empty=True)
"""That of an empty line."""

Numbers = NDArray[np.int64]
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
        self._layouts: list[LineLayout | None] = [None, _EMPTY]
        """Those of `_of_lines`, by their numbers."""
        self.rows: dict[LineLayout, list[tuple[bytes, ...]]] = {}
        """The groups of a layout's pattern in each of its lines; maybe of none that hold nothing."""

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and where one behind the last would."""
        starts: list[int] = self._starts.tolist()
        return starts

    @cached_property
    def _starts(self) -> Numbers:
        ends = np.flatnonzero(np.frombuffer(self._text, dtype=np.uint8) == _NEWLINE)
        return np.concatenate([[0], ends + 1, [len(self._text) + 1]])

    @cached_property
    def _keys(self) -> Numbers:
        """What lines that look alike have in common."""
        lines = self._text.translate(None, _NUMBER_CHARACTERS).split(b"\n")
        return np.fromiter(map(hash, lines), dtype=np.int64, count=len(lines))

    @cached_property
    def _of_lines(self) -> Numbers:
        """The number of the layout of each line. An empty line belongs to the one above."""
        return np.zeros(len(self._starts) - 1, dtype=np.int64)

    def _numbers(self, places: Sequence[Place]) -> tuple[Numbers, Numbers]:
        """The lines in some parts of the text, and how many there are up to the end of each part."""
        bounds = np.searchsorted(self._starts, np.array(places, dtype=np.int64).reshape(-1, 2))
        sizes = bounds[:, 1] - bounds[:, 0]
        behind = np.cumsum(sizes)
        return np.arange(sizes.sum()) + np.repeat(bounds[:, 1] - behind, sizes), behind

    def alike(self, places: Sequence[Place], keys: Collection[int]) -> dict[int, list[int]]:
        """The lines in some parts of the text, by what those that look alike have in common."""
        numbers, _ = self._numbers(places)
        if not len(numbers):
            return {}
        of_lines = self._keys[numbers]
        order = np.argsort(of_lines, kind="stable")
        in_order = of_lines[order]
        firsts = [0, *_changes(in_order)]
        found: dict[int, list[int]] = {}
        for key, first, last in zip(
            in_order[firsts].tolist(), firsts, [*firsts[1:], len(order)], strict=True
        ):
            if key in keys:
                found[key] = numbers[order[first:last]].tolist()
        return found

    def add(self, numbers: Sequence[int], layouts: Sequence[LineLayout]) -> None:
        """Note which of some lines are of these layouts: each is of the first that matches it."""
        for layout in layouts:
            if (rows := self._rows(numbers, layout)) is not None:
                matched = numbers
            elif matches := self._matches(numbers, layout):
                matched, rows = [number for number, _ in matches], [row for _, row in matches]
                others = {*matched}
                numbers = [number for number in numbers if number not in others]
            else:
                continue
            if layout not in self.rows:
                self.rows[layout] = []
                self._layouts.append(layout)
            self.rows[layout] += rows
            self._of_lines[matched] = self._layouts.index(layout)
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
        return bool((np.diff(self._starts[:-1]) == 1).any())

    def _add_empty_behind(self, numbers: Sequence[int]) -> None:
        """Note that empty lines belong to the known lines above them."""
        below = np.array(numbers) + 1
        below = below[below < len(self._of_lines)]
        is_empty = np.diff(self._starts)[below] == 1
        self._of_lines[below[is_empty]] = _NUMBER_OF_EMPTY

    def unknown(self, places: Sequence[Place]) -> list[Place]:
        """What is left of some parts of the text without known lines."""
        if not self.rows:
            return [*places]
        numbers, behind = self._numbers(places)
        of_places = np.repeat(np.arange(len(places)), np.diff(behind, prepend=0))
        is_unknown = self._of_lines[numbers] == 0
        lines, of_places = numbers[is_unknown], of_places[is_unknown]
        if not len(lines):
            return []
        is_first = np.ones(len(lines) + 1, dtype=np.bool_)  # of lines below one another in a part
        is_first[1:-1] = (np.diff(lines) != 1) | (np.diff(of_places) != 0)
        ends = np.array(places, dtype=np.int64)[:, 1][of_places]
        begins_left = self._starts[lines[is_first[:-1]]]
        ends_left = np.minimum(self._starts[lines + 1], ends)[is_first[1:]]
        return [*zip(begins_left.tolist(), ends_left.tolist(), strict=True)]

    def in_order(self) -> Iterator[tuple[LineLayout | None, int, int]]:
        """The layout of lines below one another, None where none is known, the first line and the one behind.

        Empty lines below known ones are left out.
        """
        if not self.rows:
            return
        firsts = [0, *_changes(self._of_lines)]
        layouts = map(self._layouts.__getitem__, self._of_lines[firsts].tolist())
        for layout, first, last in zip(layouts, firsts, [*firsts[1:], len(self._of_lines)], strict=True):
            if layout is not _EMPTY:
                yield layout, first, last


def _changes(numbers: Numbers) -> list[int]:
    """Where a number differs from the one before."""
    changes: list[int] = (np.flatnonzero(np.diff(numbers)) + 1).tolist()
    return changes


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
