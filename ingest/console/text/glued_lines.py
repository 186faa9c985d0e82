"""Lines that several processes print into one, without an end of line between them."""

from __future__ import annotations

import re

_LEAST_GLUED = 5
"""Texts of two lines that are one, each with a counter and a value."""
_LEAST_LETTERS = 3
_BEGIN = re.compile(r"[^\W\d][^\d\n]{2,60}(?=\d)")
"""What is before the first number of a line that begins with a word: `Epoch `."""
_BETWEEN = re.compile(r"(?<=\d)[^\d\n]{1,80}(?=\d)")
"""What is between the first two numbers of a record, which is the same in all: `, loss: `."""
_MOST_GLUED = 4096


def without_glued(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts without another line of the kind that is glued to them: `Epoch 4, loss 0.5Epoch 4`."""
    begin = texts[0]
    if len(texts) < _LEAST_GLUED or begin not in texts[2:] or sum(map(str.isalpha, begin)) < _LEAST_LETTERS:
        return texts
    return (*texts[: texts.index(begin, 2)], "")


def glued_records(line: str) -> list[str]:
    """The records of a line, of which each but the first begins like the first, right behind a value."""
    found = _BEGIN.match(line)
    if found is None or line.find(begin := found[0], len(begin)) < 0:
        return [line]
    places = [0]
    position = line.find(begin, len(begin))
    while position >= 0 and len(places) < _MOST_GLUED:
        if line[position - 1].isdecimal() or line[position - 1] in "%)]":
            places.append(position)
        position = line.find(begin, position + len(begin))
    records = [line[first:last] for first, last in zip(places, [*places[1:], len(line)], strict=True)]
    kinds = {match and match[0] for match in map(_BETWEEN.search, records)}
    return records if None not in kinds and len(kinds) == 1 else [line]
