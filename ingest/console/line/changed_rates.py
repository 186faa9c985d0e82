"""Lines of nothing but a learning rate before and behind a change: `learning rate 0.0002 -> 0.0001`.

Unlike `lr: 0.1`, such a line is no setting: it states that the rate changed at its place.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from holter.ingest.console.line.line_tokens import value_of

NAME = r"(?P<name>learning[ _-]?rate|lr)"
GROUP = r"(?: (?:of|for) (?:parameter |param )?group (?P<group>\d{1,3}))?"
_NUMBER = r"\d{0,3}\.?\d{1,20}(?:e[-+]?\d{1,3})?"
NEW = rf"(?P<value>{_NUMBER})\.?"
_VERB = r"(?: (?:was |is |has been )?(?:[a-z]{3,12}ed|set|drops|decays))"
_ARROW = r" {0,4}(?:[-=]{1,2}>|→) {0,4}"
FROM = rf"(?:{_VERB}?(?: from|:)? {{1,4}}{_NUMBER}{_ARROW}|{_VERB} from {{1,4}}{_NUMBER} to {{1,4}})"
"""What is between the name of a rate and its new value, as a pattern."""
_CHANGED = re.compile(rf"(?i)[^\d\n]{{0,60}}\b{NAME}{GROUP}{FROM}{NEW}\s{{0,8}}")
_SIGNS = ("->", "=>", "→", " to ")


class ChangedRate(NamedTuple):
    """The name of a learning rate and its new value."""

    name: str
    value: float


def changed_rate(line: str) -> ChangedRate | None:
    """The rate that a line states with its old value; None if it states none."""
    if not any(sign in line for sign in _SIGNS):
        return None
    match = _CHANGED.fullmatch(line)
    value = None if match is None else value_of(match["value"])
    if match is None or value is None:
        return None
    name = match["name"] if match["group"] in (None, "0") else f"{match['name']}_{match['group']}"
    return ChangedRate(name, value)
