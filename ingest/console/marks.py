"""The lines of a text that bear a mark, and of which kind they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from holter.ingest.console.at_once import AtOnce
from holter.ingest.console.dialect import Dialect, LineKind


class Marks:
    """The marks of some kinds of lines."""

    def __init__(self, kinds: Sequence[LineKind]) -> None:
        self._kinds = tuple(kinds)
        self._searched = AtOnce([kind.mark for kind in self._kinds])

    def within(self, block: bytes) -> list[LineKind]:
        """The kinds whose marks may be found in a block, in their order."""
        return [self._kinds[place] for place in self._searched.within(block)]

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


@lru_cache(maxsize=256)
def tells_of(dialects: tuple[Dialect, ...]) -> AtOnce:
    """What tells these dialects, likewise."""
    return AtOnce([dialect.tell for dialect in dialects])
