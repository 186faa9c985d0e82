"""Separates rows from text before them that is printed without an end of line: `error!!!loss: 0.5`.

So does a row whose line does not end before the next one: `loss: 0.5loss: 0.4`; and a name from the number
that is printed right behind it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from holter.ingest.console.line.line_tokens import split_numbers
from holter.ingest.metric_names import is_metric_name
from holter.ingest.offline.counted_lines import LEAST_LINES, Texts, layout_of

_BEGIN = re.compile(r"[^\d\n]{1,80}(?<![-+.])(?=[-+.]?\d)")
"""What is before the first number of a line."""
_MOST_KINDS = 2
"""Kinds of rows that are looked for."""
_LEAST_SHARE = 0.25
"""Of the lines with numbers that begin like a row."""
_LEAST_OF_BEGIN = 3
"""Characters before the first number of a row that are enough to find it within a line."""
_ENDS = "!?%)]}"
"""What a text may end with before a row that begins with a word; `val_loss` and `train.loss` are names."""
_GLUED = re.compile(
    r"\s{0,8}(?P<name>[A-Za-z][A-Za-z_ ]{1,40}[a-z])(?P<number>\d{1,9}\.\d{1,20}(?:e[-+]?\d{1,3})?)\s*"
)
"""A line of nothing but a name and a fraction right behind it."""
_MOST_ROWS = 64
"""Rows of a line that are separated."""


def separate_names(lines: Sequence[str]) -> list[str]:
    """The lines, with a blank between a name and a fraction in those that have nothing else: `test12.45`.

    So it is where the same name is before other fractions, again and again: the digits of `fc7` or `v1.2` are
    always the same. Names of metrics are so beside them (`final cost5.14`).
    """
    glued = [_GLUED.fullmatch(line) for line in lines]
    numbers: defaultdict[str, set[str]] = defaultdict(set)
    for match in filter(None, glued):
        numbers[match["name"]].add(match["number"])
    known = {name for name, of_name in numbers.items() if len(of_name) >= LEAST_LINES}
    if not known:
        return [*lines]
    return [
        f"{match['name']} {match['number']}"
        if match is not None and (match["name"] in known or is_metric_name(match["name"]))
        else line
        for line, match in zip(lines, glued, strict=True)
    ]


def separate_rows(lines: Sequence[str]) -> list[str]:
    """The lines, of which those with a row behind something else are several."""
    begins = Counter(match[0] for line in lines if (match := _BEGIN.match(line)) is not None)
    least = max(LEAST_LINES, _LEAST_SHARE * begins.total())
    frequent = [
        begin for begin, count in begins.most_common(_MOST_KINDS) if count >= least and _is_clear(begin)
    ]
    known = {
        begin: {layout_of(split_numbers(line)) for line in lines if line.startswith(begin)}
        for begin in frequent
        if any(line.find(begin, 1) > 0 for line in lines)
    }
    if not known:
        return [*lines]
    return [part for line in lines for part in _parts_of_line(line, known)]


def _is_clear(begin: str) -> bool:
    return len(begin.strip()) >= _LEAST_OF_BEGIN and any(map(str.isalpha, begin))


def _parts_of_line(line: str, known: dict[str, set[Texts]]) -> list[str]:
    """The parts of a line, of which each but the first is a row."""
    parts: list[str] = []
    while len(parts) < _MOST_ROWS and (place := _last_row(line, known)) > 0:
        parts.append(line[place:])
        line = line[:place]
    return [line, *reversed(parts)]


def _last_row(line: str, known: dict[str, set[Texts]]) -> int:
    """Where the last row of a line begins behind something else, -1 without such a one."""
    for begin, layouts in known.items():
        place = line.rfind(begin, 1)
        if place <= 0 or not _may_end(line[:place], begin):
            continue
        if layout_of(split_numbers(line[place:])) in layouts:
            return place
    return -1


def _may_end(before: str, begin: str) -> bool:
    """Whether a text may end before what begins a row, so that both are no name together."""
    last = before[-1]
    if begin.lstrip()[:1].isalnum():
        return last.isdecimal() or last in _ENDS
    return not (last.isspace() or last.isalpha())
