"""Arrays among the lines of a text, as numpy and torch print them over several lines: they are no rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MOST_LINES = 1000
"""Lines of one array; both libraries print fewer, unless they are told to print all."""
_INSIDE = re.compile(r"[\s\d.,+\-\[\]eE]*+(?:(?:nan|inf|True|False|j)[\s\d.,+\-\[\]eE]*+)*+")
"""What is in a row of an array, its brackets included; three dots stand for rows that are left out."""
_CALL = re.compile(r"(?:(?:np|numpy|torch|jnp)\.)?(?:tensor|array|Array|Parameter containing:\s?tensor)\($")
_OPTIONS = re.compile(r"(?:,\s{0,20}\w{1,20}=(?:<[^>\n]{0,60}>|'[^'\n]{0,60}'|[\w.]{1,60})){0,4}\)")
"""What torch prints behind the numbers: `, device='cuda:0', grad_fn=<AddBackward0>)`."""
_BRACKET = re.compile(r"[\[\]]")
_NAME = re.compile(r"[^\d\n]{0,80}")
"""What is before an array and nothing else: its name."""


def without_arrays(lines: Sequence[str]) -> list[str]:
    """The lines without arrays that take several of them, and without the names of these.

    What else is before and behind an array remains; one that does not end is none.
    """
    if not any("[" in line for line in lines):
        return [*lines]
    found: list[str] = []
    number = 0
    while number < len(lines):
        end, rest = _end_of_array(lines, number) if "[" in lines[number] else (number, "")
        if end > number:
            found.extend(_around(lines[number], rest))
            number = end + 1
        else:
            found.append(lines[number])
            number += 1
    return found


def _end_of_array(lines: Sequence[str], first: int) -> tuple[int, str]:
    """The last line of the array that begins in a line, and what is behind it; the first one without any."""
    begin = _begin(lines[first])
    depth = lines[first].count("[", begin) - lines[first].count("]", begin) if begin >= 0 else 0
    if depth <= 0 or _INSIDE.fullmatch(lines[first], begin) is None:
        return first, ""
    for number in range(first + 1, min(first + _MOST_LINES, len(lines))):
        line = lines[number]
        inside = _INSIDE.match(line)
        end = inside.end() if inside is not None else 0
        depth += line.count("[", 0, end) - line.count("]", 0, end)
        if depth <= 0:
            behind = line.rfind("]", 0, end) + 1
            return number, _OPTIONS.sub("", line[behind:], count=1)
        if end < len(line):
            break
    return first, ""


def _begin(line: str) -> int:
    """Where the brackets begin that a line does not close, -1 without any."""
    position = depth = 0
    for bracket in reversed([*_BRACKET.finditer(line)]):
        position = bracket.start()
        depth += 1 if bracket[0] == "[" else -1
        if depth > 0:
            break
    while position and line[position - 1] == "[":
        position -= 1
    return position if depth > 0 else -1


def _around(line: str, rest: str) -> Iterator[str]:
    """What is before an array, unless that is its name, and what is behind it."""
    before = _CALL.sub("", line[: _begin(line)])
    if _NAME.fullmatch(before) is None:
        yield before
    if rest.strip():
        yield rest
