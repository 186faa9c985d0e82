"""A text that parts were taken out of: where what is left of it is in its file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import BinaryIO

_LOCATION = re.compile(r"(byte|line) (\d+)")

Cut = tuple[int, int]
"""Where in the shortened text a part was taken out, and how much was up to there."""


@dataclass(frozen=True, slots=True)
class ShortenedText:
    """The stream of a text at its beginning, and what was taken out of it, in its order.

    `cuts` are in bytes; `line_cuts` in lines, of which the first one is 1.
    """

    stream: BinaryIO
    cuts: Sequence[Cut] = ()
    line_cuts: Sequence[Cut] = ()

    def byte_of_file(self, position: int) -> int:
        """The byte of the file that is at a position of the stream."""
        return position + _taken_out(self.cuts, position)

    def location_in_file(self, location: str) -> str:
        """A location in the stream as readers state it, "byte 1" or "line 3", in the file; else as it is."""
        found = _LOCATION.fullmatch(location)
        if found is None:
            return location
        number = int(found[2])
        return (
            f"{found[1]} {number + _taken_out(self.cuts if found[1] == 'byte' else self.line_cuts, number)}"
        )


def _taken_out(cuts: Sequence[Cut], position: int) -> int:
    """How much was taken out before a position of the shortened text."""
    before = bisect_right(cuts, position, key=itemgetter(0))
    return cuts[before - 1][1] if before else 0
