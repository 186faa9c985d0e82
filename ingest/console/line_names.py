"""The names of the metrics of one line: each has its own, and says of which data it is."""

from __future__ import annotations

import re

from holter.ingest.console.line_fields import DATA_SPLIT
from holter.ingest.console.line_words import EPOCHS, OTHERS
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_OF_TRAINING = re.compile(
    r"(?i)\blr\b|learning.?rate|grad|train|/s(?:ec)?\b|best|total|time|(?:tokens?|samples?|images?)/"
)
_DATA_BEFORE_SIGN = re.compile(r"(?i)(train(?:ing)?|valid(?:ation)?|val|test|eval|dev)[-_./]")


def _is_evaluated(section: str, name: str, names: dict[str, None]) -> bool:
    """Whether a metric behind those of an evaluation is one of them: `val Loss: 0.4 Acc: 0.8`.

    A name that nobody knows is, where the line has nothing but those of this evaluation.
    """
    found = DATA_SPLIT.fullmatch(in_english(section).strip())
    if found is None or not found[2] or _OF_TRAINING.search(name):
        return False
    others = [other.lower() for other in names if other.lower().split()[-1] not in EPOCHS | OTHERS]
    return is_metric_name(name) or all(other.startswith(section.lower()) for other in others)


def unique_name(name: str, section: str, names: dict[str, None]) -> tuple[str, str]:
    """A name that no earlier number of the line has, and the part of the line that begins with it."""
    words = name.split(" ")
    if DATA_SPLIT.fullmatch(in_english(words[0]).strip()):
        section = name if len(words) == 1 else words[0]
    elif section and (name in names or (section not in names and _is_evaluated(section, name, names))):
        name = f"{section} {name}"
    elif name in names and (data := _data_of_last(names)):
        name = f"{data} {name}"
    return numbered(name, names), section


def numbered(name: str, names: dict[str, None]) -> str:
    """A name that no earlier number of the line has: `acc`, `acc 2`, ..."""
    number = 2
    unique = name
    while unique in names:
        unique, number = f"{name} {number}", number + 1
    return unique


def _data_of_last(names: dict[str, None]) -> str:
    """The data of the last name that begins with any: `Val` of `Train-acc: 1, loss: 2 | Val-acc: 1, ...`."""
    for name in reversed(names):
        if (found := _DATA_BEFORE_SIGN.match(name)) is not None:
            return found[1]
    return ""
