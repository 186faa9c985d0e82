"""A metric that improved: `val_loss improved from 0.52 to 0.41`, `Validation loss decreased (0.52 --> 0.41)`.

The new value is the best one so far; the old one was that of an earlier step.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NUMBER = r"[-+]?(?:\d[\d.]{0,20}(?:[eE][-+]?\d{1,3})?|\.\d{1,20}|(?:np\.)?inf(?:inity)?|nan|None)%?"
CHANGED = (
    r" (?:has |was |is )?(?:improv|increas|decreas|reduc|ris|dropp)(?:ed|en|es)?[:,]?(?: from)?[ \t]{1,3}"
    rf"[(\[]?{NUMBER}[ \t]{{0,3}}(?:to|[-=]{{1,2}}>|→)[ \t]{{0,3}}"
)
"""What stands between the name of a metric and its new value, as a pattern."""
_IMPROVEMENT = re.compile(
    rf"(?i)(?P<name>[A-Za-z][\w@/.-]{{0,60}}(?: (?!from\b)[A-Za-z][\w@/.-]{{0,30}}){{0,3}}?){CHANGED}"
    rf"(?P<value>{NUMBER})"
)
_STEMS = ("improv", "creas", "reduc", "ris", "dropp")


class Improvement(NamedTuple):
    """What is before the name of a metric that improved, its name, and its new value as printed."""

    ahead: str
    name: str
    value: str


def improvement(line: str) -> Improvement | None:
    """What a line states of a metric that improved; None if it states nothing like that."""
    if not any(stem in line for stem in _STEMS) or (match := _IMPROVEMENT.search(line)) is None:
        return None
    name = match["name"]
    return Improvement(line[: match.start()], name.removeprefix("The ").removeprefix("the "), match["value"])


def without_old_value(line: str) -> str:
    """The line with nothing but the new value of a metric that improved."""
    found = improvement(line)
    return line if found is None else f"{found.ahead}{found.name}: {found.value}"
