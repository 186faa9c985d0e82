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
from itertools import accumulate, takewhile
from typing import BinaryIO

from holter.ingest.offline.shortened_text import Cut, ShortenedText

_MOST_BYTES = 64 * 2**20
_LEAST_LENGTH = 16
_LEAST_LINES = 3
_DIGITS = b"0123456789"
_TIMED = re.compile(rb"\d\d:\d\d:\d\d(?:[.,]\d+)?|\d\.\d{2,} ?m?s(?:ec|/|\b)")
"""A time of a clock, or how long something took; those of progress bars are too coarse."""


def without_overlaps(stream: BinaryIO) -> ShortenedText:
    """The stream of a text at its beginning, or one of what is left of it if parts of it come twice."""
    text = stream.read(_MOST_BYTES + 1)
    stream.seek(0)
    if len(text) > _MOST_BYTES:
        return ShortenedText(stream)
    lines = text.split(b"\n")
    repeated = _repeated(lines)
    kept = _lines_printed_once(lines, repeated) if len(repeated) >= _LEAST_LINES else range(len(lines))
    return ShortenedText(stream) if len(kept) == len(lines) else _shortened(lines, kept)


def _shortened(lines: Sequence[bytes], kept: Sequence[int]) -> ShortenedText:
    """The text of those of some lines that have these numbers."""
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    cuts, line_cuts = list[Cut](), list[Cut]()
    size = 0
    for count, number in enumerate(kept):
        if number - count != (line_cuts[-1][1] if line_cuts else 0):
            cuts.append((size, begins[number] - size))
            line_cuts.append((count + 1, number - count))
        size += len(lines[number]) + 1
    return ShortenedText(io.BytesIO(b"\n".join(lines[number] for number in kept)), cuts, line_cuts)


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


def _lines_printed_once(lines: Sequence[bytes], repeated: set[bytes]) -> list[int]:
    """The numbers of lines without those that repeat the ones right before them.

    `repeated` are the ones with a time.
    """
    kept: list[int] = []
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
        kept.append(at)
        at += 1
    return kept


def _have_rows(lines: Set[bytes]) -> bool:
    """Whether some of these lines differ in their numbers and times alone, as those of steps do."""
    times: dict[bytes, set[bytes]] = defaultdict(set)
    for line in lines:
        times[line.translate(None, _DIGITS)].add(b" ".join(_TIMED.findall(line)))
    return max(map(len, times.values()), default=0) >= _LEAST_LINES


def _common(kept: Sequence[int], first: int, lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """How many lines before and from `at` on are those before and from `first` on, among those so far."""
    size = len(kept)
    most = size - first
    above = range(1, min(most, first) + 1)
    below = range(min(most, len(lines) - at))
    before = takewhile(lambda place: lines[kept[first - place]] == lines[kept[size - place]], above)
    behind = takewhile(lambda place: lines[kept[first + place]] == lines[at + place], below)
    return sum(1 for _ in before), sum(1 for _ in behind)
