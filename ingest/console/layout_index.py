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


class LineRun(NamedTuple):
    """Lines of one layout, with at most an empty line between two: their numbers, beginnings and ends.

    The end of a line is where the next one begins; `end` is that of the run, an empty line included. Lines
    that hold nothing have no rows.
    """

    layout: LineLayout
    rows: list[tuple[bytes, ...]]
    starts: list[int]
    ends: list[int]
    end: int


@dataclass(slots=True)
class _Alike:
    """Lines that are the same without the characters of numbers."""

    lines: int = 0
    attempts: int = 0
    layouts: list[LineLayout] = field(default_factory=list)

    def is_due(self) -> bool:
        """Whether enough lines were seen to make a layout; ever more if many lines have another one."""
        return self.lines >= _MIN_LINES << max(self.attempts - _MAX_LAYOUTS, 0)


class LayoutIndex:
    """Finds lines of known layouts; lines that it is shown become known."""

    def __init__(self, layout_of: Callable[[bytes], LineLayout | None]) -> None:
        self._layout_of = layout_of
        self._current: LineLayout | None = None
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
                alike.layouts = [layout, *alike.layouts[: _MAX_LAYOUTS - 1]]

    def run(self, text: bytes, begin: int, end: int) -> LineRun | None:
        """The lines of one known layout from `begin` on, where a line begins; None without any."""
        match = None if self._current is None else self._current.pattern.match(text, begin, end)
        if match is None:
            match = self._first_match(text, begin, end)
        if match is None or self._current is None:
            return None
        if self._current.is_empty:
            return LineRun(self._current, [], [begin], [], match.end())
        rows, starts, ends, next_match = [], [], [], self._current.pattern.match
        while match is not None:
            rows.append(match.groups())
            starts.append(begin)
            begin = match.end()
            ends.append(begin - 1 if text[begin - 2] == _NEWLINE else begin)
            match = next_match(text, begin, end)
        return LineRun(self._current, rows, starts, ends, begin)

    def _first_match(self, text: bytes, begin: int, end: int) -> re.Match[bytes] | None:
        line_end = text.find(b"\n", begin, end)
        alike = self._alike.get(_key(text[begin:line_end])) if line_end >= 0 else None
        for layout in alike.layouts if alike is not None else ():
            if (match := layout.pattern.match(text, begin, end)) is not None:
                self._current = layout
                return match
        return None


def _key(line: bytes) -> int:
    return hash(line.translate(None, _NUMBER_CHARACTERS))
