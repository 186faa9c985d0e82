"""Numbers without a name of their own behind a metric: `reward 158.6 +/- 37.1`, `loss 0.5 0.6 0.7`.

The imaginary part of a complex number is one, too: `energy=-1.25+0.004j`.
"""

from __future__ import annotations

import re

from holter.ingest.console.line.number_names import name_before
from holter.ingest.metric_names import is_metric_name

_SPREAD = re.compile(r" {0,2}%? {0,2}\(?(?:(?:\+/-|\u00b1|\+-) {0,2}|(?P<minus_of_number>\+/?))")
"""What is between a mean and how far its values vary: `5.1 +/- 0.3`, `5.1% (\u00b1 0.3%)`.

The minus sign is that of the number where nothing is between both: `+/-0.3`.
"""
_IMAGINARY_UNIT = re.compile(r"(?:[ij]|im)(?!\w)")
"""What is right behind an imaginary part: of Python, MATLAB and Julia."""
_BETWEEN = re.compile(r"%? ")
"""What is between several numbers of a metric."""
_AROUND_MEAN = (" (", ") ")
"""What is around a running mean between two of them: `loss 0.5 (0.6) 0.7`."""
_UNIT = (
    r"(?:[mun]?s|secs?|seconds|mins?|minutes|h|hours|its?|samples|images|tokens|steps|epochs|x|[kKMGT]i?B)"
)
_BEHIND = re.compile(
    r"%?(?:\s{0,4}(?:[,;|)\]]|$)"
    rf"|\s{{1,4}}(?!(?:of|out of|de|von|{_UNIT})\b)(?!\w{{1,20}}/)[A-Za-z])"
)
"""What is behind the last of them: neither its total nor its unit."""


def is_imaginary(before: str, behind: str) -> bool:
    """Whether a number between these texts is the imaginary part of a complex one."""
    return before.strip(" ") in ("+", "-") and _IMAGINARY_UNIT.match(behind) is not None


def sign_of_value(before: str, behind: str) -> float:
    """What a number behind another one of its metric is multiplied by, by the texts around it."""
    if is_imaginary(before, behind):
        return -1.0 if before.strip(" ") == "-" else 1.0
    return scale_of_spread(before) or 1.0


def scale_of_spread(before: str) -> float:
    """By how much a number is multiplied that states how far the values vary whose mean is before it.

    `before` is the text between both; 0 if it is before no such number.
    """
    match = _SPREAD.fullmatch(before)
    if match is None:
        return 0.0
    return -1.0 if match["minus_of_number"] else 1.0


def values_behind(texts: tuple[str, ...], index: int) -> tuple[int, ...]:
    """The numbers behind one that are of the same metric, without a name of their own.

    They are how far its values vary, an imaginary part, or more values right behind it: `loss 0.5 0.6, acc`.
    """
    count = len(texts) - 1
    if index + 1 < count and (
        is_imaginary(texts[index + 1], texts[index + 2]) or scale_of_spread(texts[index + 1])
    ):
        return (index + 1,)
    last = index
    while last + 1 < count and _BETWEEN.fullmatch(texts[last + 1]) is not None:
        last += 1
    first = index + 1
    if last == index and index + 2 < count and texts[index + 1 : index + 3] == _AROUND_MEAN:
        first = last = index + 2
    if last == index or _BEHIND.match(texts[last + 1]) is None or not _names_metric(texts[index]):
        return ()
    return tuple(range(first, last + 1))


def name_of_value(name: str, before: str, behind: str) -> str:
    """The name of a number behind one of this name, by the texts around it."""
    if is_imaginary(before, behind):
        return f"{name} (imaginary)"
    return f"{name} (std)" if scale_of_spread(before) else name


def _names_metric(before: str) -> bool:
    """Whether a text ends with the name of a metric, right before its number."""
    is_near = not before.endswith("  ")
    return is_near and is_metric_name(name_before(before).name)
