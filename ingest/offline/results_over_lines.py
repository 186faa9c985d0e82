"""Results over several lines, each a name and its number below it: `val`, `precision`, `0.25`.

A program that logs one object at a time prints them so. A line with nothing but data may be above the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.line.line_words import DATA_SPLIT
from holter.ingest.metric_names import is_metric_name

_NAME = re.compile(r"[ \t]{0,20}([A-Za-z][\w@/.-]{0,40}(?: [\w@/.-]{1,30}){0,3})[ \t\r]{0,8}")
_NUMBER = re.compile(
    r"[ \t]{0,20}(?:(?:tensor|array)\(\[{0,2})?([-+]?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?)"
    r"(?:\]{0,2}(?:, {0,4}(?:device|dtype|grad_fn)=[^,)\s]{1,60}){0,3}\))?[ \t\r]{0,8}"
)


def with_numbers_behind(lines: Sequence[str]) -> list[str]:
    """Lines in which the number below the name of a metric is behind it, and the data above it before it.

    Where more than one name or number stands below one another, these are cells of something else, unless a
    colon states that the number belongs to the name right above it.
    """
    joined: list[str] = []
    data, numbered = "", -1
    for at, line in enumerate(lines):
        if at == numbered:
            continue
        if named := _name_and_number(lines, at):
            joined.append(f"{data}{named}")
            numbered = at + 1
        elif (name := _name(line)) and DATA_SPLIT.fullmatch(name) and _name_and_number(lines, at + 1):
            data = f"{name} "
        else:
            joined.append(line)
            data = ""
    return joined


def _name_and_number(lines: Sequence[str], at: int) -> str:
    """The name of a metric and the number below it; "" if that may be the number of another name."""
    number = _NUMBER.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
    if number is None:
        return ""
    text = lines[at].strip()
    if text.endswith(":"):
        return f"{text} {number[1]}" if is_metric_name(text.rstrip(" \t:")) else ""
    behind = lines[at + 2] if at + 2 < len(lines) else ""
    above = _name(lines[at - 1]) if at else ""
    is_of_another = bool(above and is_metric_name(above)) or _NUMBER.fullmatch(behind) is not None
    name = _name(lines[at])
    return f"{name}: {number[1]}" if name and is_metric_name(name) and not is_of_another else ""


def _name(line: str) -> str:
    """The name that is all of a line, "" of other lines."""
    match = _NAME.fullmatch(line)
    return "" if match is None else match[1]
