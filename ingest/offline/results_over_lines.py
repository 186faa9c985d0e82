"""Results over several lines, each a name and its number below it: `val`, `precision`, `0.25`.

A program that logs one object at a time prints them so. A line with nothing but data may be above the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.line_words import DATA_SPLIT
from holter.ingest.metric_names import is_metric_name

_NAME = re.compile(r"[ \t]{0,20}([A-Za-z][\w@/.-]{0,40}(?: [\w@/.-]{1,30}){0,3})(:?)[ \t\r]{0,8}")
_NUMBER = re.compile(
    r"[ \t]{0,20}(?:(?:tensor|array)\(\[{0,2})?([-+]?\d{1,9}\.\d{1,20}(?:[eE][-+]?\d{1,3})?)"
    r"(?:\]{0,2}(?:, {0,4}(?:device|dtype|grad_fn)=[^,)\s]{1,60}){0,3}\))?[ \t\r]{0,8}"
)


def with_numbers_behind(lines: Sequence[str]) -> list[str]:
    """Lines in which the number below the name of a metric is behind it, and the data above it before it.

    Where more than one name or number stands below one another, these are cells of something else, unless a
    colon says that the number belongs to the name right above it.
    """
    joined: list[str] = []
    data, numbered = "", -1
    for at, line in enumerate(lines):
        if at == numbered:
            continue
        name = _NAME.fullmatch(line)
        number = _below(lines, at) if name is not None and is_metric_name(name[1]) else ""
        if name is not None and number:
            joined.append(f"{data}{name[1]}: {number}")
            numbered = at + 1
        elif name is not None and DATA_SPLIT.fullmatch(name[1]) and _is_name_of_number(lines, at + 1):
            data = f"{name[1]} "
        else:
            joined.append(line)
            data = ""
    return joined


def _is_name_of_number(lines: Sequence[str], at: int) -> bool:
    name = _NAME.fullmatch(lines[at]) if at < len(lines) else None
    return name is not None and is_metric_name(name[1]) and bool(_below(lines, at))


def _below(lines: Sequence[str], at: int) -> str:
    """The number below a name; "" without one, or where it may be that of another name."""
    number = _NUMBER.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
    if number is None:
        return ""
    if lines[at].rstrip().endswith(":"):
        return number[1]
    behind = lines[at + 2] if at + 2 < len(lines) else ""
    above = _NAME.fullmatch(lines[at - 1]) if at else None
    is_alone = above is None or not is_metric_name(above[1])
    return number[1] if is_alone and _NUMBER.fullmatch(behind) is None else ""
