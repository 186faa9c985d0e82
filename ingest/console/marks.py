"""Which kinds of lines a block of text holds: the marks of all of them are searched for at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

from holter.ingest.console.dialect import LineKind


class Marks:
    """The marks of some kinds of lines, as one automaton.

    Searching a block for each mark by itself costs a pass over the block a kind; there are dozens, and
    most blocks hold one or none. What RE2 has no word for (a look ahead) is searched for by itself.
    """

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self.kinds = tuple(kinds)
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        self._set: Any = re2.Set.SearchSet(options)
        self._alone: list[int] = []
        self._members: list[int] = []
        for place, kind in enumerate(self.kinds):
            (self._members if self._add(kind) else self._alone).append(place)
        if self._members:
            self._set.Compile()

    def _add(self, kind: LineKind) -> bool:
        if not isinstance(kind.mark, re.Pattern) or kind.mark.flags & re.IGNORECASE:
            return False
        try:
            self._set.Add(kind.mark.pattern)
        except re2.error:
            return False
        return True

    def within(self, block: bytes) -> list[LineKind]:
        """The kinds whose marks may be found in a block, in their order."""
        found = (self._set.Match(block) or ()) if self._members else ()
        places = sorted([*(self._members[member] for member in found), *self._alone])
        return [self.kinds[place] for place in places]

    def lines(self, block: bytes) -> Iterator[tuple[int, bytes, LineKind]]:
        """Where the lines of a block begin that bear a mark, in their order, with themselves and their kind.

        A line is of the first kind whose mark it bears.
        """
        found: dict[int, tuple[int, LineKind]] = {}
        overwrites = b"\r" in block
        for kind in self.within(block):
            for mark in kind.mark.finditer(block):
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
def marks_of(kinds: tuple[LineKind, ...]) -> Marks:
    """The marks of these kinds, made once: thousands of files are read with the same."""
    return Marks(kinds)
