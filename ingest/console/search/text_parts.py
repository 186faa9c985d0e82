"""Parts of a text between lines that were found, which are searched at once.

Each search costs something by itself: there is one for all parts, not one for each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from holter.ingest.console.dialect import LineKind
from holter.ingest.console.search.pattern_search import matches
from holter.ingest.console.text.messages import LineTexts

Place = tuple[int, int]
"""Where something begins in a text, and where it ends."""


class TextParts:
    """Some parts of a text, each of which has complete lines."""

    def __init__(self, texts: LineTexts, places: Sequence[Place]) -> None:
        self._texts, self._places = texts, places
        self._begins = [0, *accumulate([end - begin for begin, end in places])]
        self._joined: dict[int, bytes] = {}
        """What is in the parts of the texts that were searched, by the identity of these."""

    @property
    def size(self) -> int:
        """The bytes of all parts."""
        return self._begins[-1]

    @property
    def joined(self) -> LineTexts:
        """What is in the parts."""
        return LineTexts(*map(self._join, self._texts))

    def _join(self, text: bytes) -> bytes:
        if self.size == len(text):
            return text
        if (joined := self._joined.get(id(text))) is None:
            joined = b"".join([text[begin:end] for begin, end in self._places])
            self._joined[id(text)] = joined
        return joined

    def matches(self, kind: LineKind) -> Iterator[Place]:
        """Where the matches of a kind's pattern begin and end in the text, in their order.

        They are those that it has in each part by itself.
        """
        return self._matches_from(0, kind)

    def first_match(self, kind: LineKind, position: int) -> Place | None:
        """Where the first match behind the beginning of a line begins and ends in the text."""
        number = bisect_right(self._places, position, key=_begin) - 1
        if number < 0:
            return next(self.matches(kind), None)
        begin, end = self._places[number]
        return next(self._matches_from(self._begins[number] + min(position, end) - begin, kind), None)

    def _matches_from(self, position: int, kind: LineKind) -> Iterator[Place]:
        searched, begins, size = kind.searched(self._texts), self._begins, self.size
        joined = self._join(searched) if position < size else b""
        while position < size:
            number = 0
            for first, behind in matches(kind.pattern, joined, position, size):
                number = min(bisect_right(begins, first), len(self._places)) - 1
                if behind > begins[number + 1]:
                    break
                shift = self._places[number][0] - begins[number]
                yield first + shift, behind + shift
                position = behind
            else:
                return
            # it continues in the next part, which is elsewhere in the text
            begin, end = self._places[number]
            yield from matches(kind.pattern, searched, begin + max(position - begins[number], 0), end)
            position = begins[number + 1]


def places_between(places: Iterable[Place], taken: Iterable[Place]) -> list[Place]:
    """What is left of some parts of a text without lines in them; both are in their order."""
    left: list[Place] = []
    remaining = iter(taken)
    line = next(remaining, None)
    for begin, end in places:
        while line is not None and line[0] < end:
            if line[0] > begin:
                left.append((begin, line[0]))
            begin = max(begin, line[1])
            if line[1] > end:
                break  # it may continue in the next part
            line = next(remaining, None)
        if begin < end:
            left.append((begin, end))
    return left


def _begin(place: Place) -> int:
    return place[0]
