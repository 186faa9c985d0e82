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
NEW_BEST = (
    rf" improved(?: by {NUMBER}[ \t]{{0,3}}>=?[ \t]{{0,3}}[a-z_]{{1,30}} ?= ?{NUMBER})?\."
    r"[ \t]{1,3}New best score: {1,4}"
)
"""The same of Lightning: `Metric val_loss improved by 0.1 >= min_delta = 0.0. New best score: `."""
_NAME = r"[A-Za-z][\w@/.-]{0,60}"
_VERB = r"\bimprov(?:es|ing) "
_OLD = rf": {{0,4}}{NUMBER}[ \t]{{0,3}}[-=]{{1,2}}>[ \t]{{0,3}}"
IMPROVING = f"{_VERB}{_NAME}{_OLD}"
"""The name of a metric behind the word for it, before its new value: `Model is improving ppl: 9.3 --> `."""
_IMPROVEMENTS = tuple(
    re.compile(rf"(?i){form}(?P<value>{NUMBER})")
    for form in (
        rf"(?P<name>{_NAME}(?: (?!from\b)[A-Za-z][\w@/.-]{{0,30}}){{0,3}}?){CHANGED}",
        rf"(?:\bmetric )?(?P<name>{_NAME}){NEW_BEST}",
        rf"{_VERB}(?P<name>{_NAME}){_OLD}",
    )
)
_STEMS = ("improv", "creas", "reduc", "ris", "dropp")


class Improvement(NamedTuple):
    """What is before the name of a metric that improved, its name, and its new value as printed."""

    ahead: str
    name: str
    value: str


def improvement(line: str) -> Improvement | None:
    """What a line states of a metric that improved; None if it states nothing like that."""
    if not any(stem in line for stem in _STEMS):
        return None
    match = next(filter(None, (form.search(line) for form in _IMPROVEMENTS)), None)
    if match is None:
        return None
    name = match["name"]
    return Improvement(
        line[: match.start()], name.removeprefix("The ").removeprefix("the "), match["value"].rstrip(".")
    )


def without_old_value(line: str) -> str:
    """The line with nothing but the new value of a metric that improved."""
    found = improvement(line)
    return line if found is None else f"{found.ahead}{found.name}: {found.value}"
