"""Removes what a text has twice: parts of an output that were pasted with an overlap.

Lines that come again right behind those that they repeat, byte for byte, with the times of clocks or how long
something took among them, were printed once: no launch takes the same time again. Without such times they may
be of another launch that does the same.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Sequence, Set
from itertools import takewhile
from typing import BinaryIO

_MOST_BYTES = 64 * 2**20
_LEAST_LENGTH = 16
_LEAST_LINES = 3
_DIGITS = b"0123456789"
_TIMED = re.compile(rb"\d\d:\d\d:\d\d(?:[.,]\d+)?|\d\.\d{2,} ?m?s(?:ec|/|\b)")
"""A time of a clock, or how long something took; those of progress bars are too coarse."""


def without_overlaps(stream: BinaryIO) -> BinaryIO:
    """The stream of a text at its beginning, or one of what is left of it if parts of it come twice."""
    text = stream.read(_MOST_BYTES + 1)
    stream.seek(0)
    if len(text) > _MOST_BYTES:
        return stream
    lines = text.split(b"\n")
    repeated = _repeated(lines)
    kept = _kept(lines, repeated) if len(repeated) >= _LEAST_LINES else lines
    return stream if len(kept) == len(lines) else io.BytesIO(b"\n".join(kept))


def _repeated(lines: Sequence[bytes]) -> set[bytes]:
    """The lines with a time that come several times."""
    long = [line for line in lines if len(line) >= _LEAST_LENGTH]
    if len({*long}) == len(long):
        return set()
    seen, again = set[bytes](), set[bytes]()
    for line in long:
        if line in seen:
            again.add(line)
        seen.add(line)
    return {line for line in again if _TIMED.search(line) is not None}


def _kept(lines: Sequence[bytes], repeated: set[bytes]) -> list[bytes]:
    """The lines without those that repeat the ones right before them; `repeated` are the ones with a time."""
    kept: list[bytes] = []
    last: dict[bytes, int] = {}
    at = compared = 0
    while at < len(lines):
        line = lines[at]
        if line in repeated:
            first = last.get(line)
            if first is not None and at >= compared:
                before, behind = _common(kept, first, lines, at)
                compared = at + behind
                rest = len(kept) - before - first
                has_all = behind >= rest or compared >= len(lines) - 1
                if has_all and _have_rows({*lines[at:compared]} & repeated):
                    del kept[len(kept) - before :]
                    at += min(behind, rest)
                    continue
            last[line] = len(kept)
        kept.append(line)
        at += 1
    return kept


def _have_rows(lines: Set[bytes]) -> bool:
    """Whether some of these lines differ in their numbers and times alone, as those of steps do."""
    times: dict[bytes, set[bytes]] = defaultdict(set)
    for line in lines:
        times[line.translate(None, _DIGITS)].add(b" ".join(_TIMED.findall(line)))
    return max(map(len, times.values()), default=0) >= _LEAST_LINES


def _common(kept: Sequence[bytes], first: int, lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """How many lines before and from `at` on are those before and from `first` on, among those so far."""
    size = len(kept)
    most = size - first
    above = range(1, min(most, first) + 1)
    below = range(min(most, len(lines) - at))
    before = takewhile(lambda place: kept[first - place] == kept[size - place], above)
    behind = takewhile(lambda place: kept[first + place] == lines[at + place], below)
    return sum(1 for _ in before), sum(1 for _ in behind)
