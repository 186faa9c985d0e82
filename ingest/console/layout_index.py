"""The layouts of the lines of one text, learnt as its lines come."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from holter.ingest.console.line_layouts import LineLayout

_NUMBER_CHARACTERS = b"0123456789.+-eE"
_MIN_LINES = 4
"""Lines that look alike after which their layout is made: that takes as long as parsing twenty."""
_MAX_LAYOUTS = 8
"""Layouts of lines that look alike, e.g. since the digits of their times vary."""
_MAX_KEYS = 512
_NEWLINE = 10


class KnownLines(NamedTuple):
    """Lines of known layouts below one another: their numbers, beginnings and ends.

    `parts` has the layouts of the lines in turn, each with the first of these and the one behind the last.
    The end of a line is where the next one begins; `end` is that of the last one, an empty line behind it
    included. Lines that hold nothing have no rows.
    """

    parts: list[tuple[LineLayout, int, int]]
    rows: list[tuple[bytes, ...]]
    starts: list[int]
    ends: list[int]
    begin: int
    end: int


@dataclass(slots=True, eq=False)
class _KnownLayout:
    """A layout, and the one that the line behind its last one had, which is tried first."""

    layout: LineLayout
    successor: _KnownLayout = field(init=False)

    def __post_init__(self) -> None:
        self.successor = self


@dataclass(slots=True)
class _Alike:
    """Lines that are the same without the characters of numbers."""

    lines: int = 0
    attempts: int = 0
    layouts: list[_KnownLayout] = field(default_factory=list)

    def is_due(self) -> bool:
        """Whether enough lines were seen to make a layout; ever more if many lines have another one."""
        return self.lines >= _MIN_LINES << max(self.attempts - _MAX_LAYOUTS, 0)


class LayoutIndex:
    """Finds lines of known layouts; lines that it is shown become known."""

    def __init__(self, layout_of: Callable[[bytes], LineLayout | None]) -> None:
        self._layout_of = layout_of
        self._last: _KnownLayout | None = None
        self._alike: dict[int, _Alike] = {}

    def learn(self, line: bytes) -> None:
        """Count a line that had to be parsed by itself, and make a layout of it if there are several."""
        key = _key(line)
        if key not in self._alike and len(self._alike) >= _MAX_KEYS:
            self._alike.clear()
        alike = self._alike.setdefault(key, _Alike())
        alike.lines += 1
        if alike.is_due():
            alike.lines = 0
            alike.attempts += 1
            layout = self._layout_of(line)
            if layout is not None:
                alike.layouts = [_KnownLayout(layout), *alike.layouts[: _MAX_LAYOUTS - 1]]

    def lines(self, text: bytes, begin: int, end: int) -> KnownLines | None:
        """The lines of known layouts from `begin` on, where a line begins; None without any."""
        parts: list[tuple[LineLayout, int, int]] = []
        rows: list[tuple[bytes, ...]] = []
        starts, ends, first, first_row = [], [], begin, 0
        last, current = None, self._last
        while begin < end:
            known = current.successor if current is not None else None
            match = known.layout.pattern.match(text, begin, end) if known is not None else None
            if match is None:
                known, match = self._find(text, begin, end)
                if known is None or match is None:
                    break
                if current is not None:
                    current.successor = known
            current = known
            assert known is not None, "the layout of a match"
            if known.layout.is_empty:
                begin = match.end()
                continue
            if known is not last:
                if last is not None:
                    parts.append((last.layout, first_row, len(rows)))
                last, first_row = known, len(rows)
            rows.append(match.groups())
            starts.append(begin)
            begin = match.end()
            ends.append(begin - 1 if text[begin - 2] == _NEWLINE else begin)
        self._last = current
        if last is not None:
            parts.append((last.layout, first_row, len(rows)))
        return None if begin == first else KnownLines(parts, rows, starts, ends, first, begin)

    def _find(
        self, text: bytes, begin: int, end: int
    ) -> tuple[_KnownLayout, re.Match[bytes]] | tuple[None, None]:
        line_end = text.find(b"\n", begin, end)
        alike = self._alike.get(_key(text[begin:line_end])) if line_end >= 0 else None
        for known in alike.layouts if alike is not None else ():
            if (match := known.layout.pattern.match(text, begin, end)) is not None:
                return known, match
        return None, None


def _key(line: bytes) -> int:
    return hash(line.translate(None, _NUMBER_CHARACTERS))
