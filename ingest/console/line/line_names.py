"""Unique names of the metrics of a line, with the data that they are of where these tell them apart."""

from __future__ import annotations

import re
from collections.abc import Collection

from holter.ingest.console.line.data_names import names_data
from holter.ingest.console.line.line_words import DATA_SPLIT, DATA_TAG, EPOCHS, OTHERS, SHORT_DATA, STATISTICS
from holter.ingest.metric_names import is_metric_name
from holter.translated_words import in_english

_OF_TRAINING = re.compile(
    r"(?i)(?<![a-z])(?:lr(?![a-z])|learning.?rate|grad|train|best|total)|time(?![a-z])|/s(?:ec)?\b"
    r"|(?:tokens?|samples?|images?)/"
)
_QUALIFIERS = STATISTICS | {"global", "overall", "final", "server", "aggregated", "centralized", "total"}
"""Words before the data of a metric that say of all that follow how they were computed."""
_LEAST_QUALIFIED = 2


def unique_name(name: str, section: str, names: Collection[str]) -> tuple[str, str]:
    """A name that no earlier number of the line has, and the part of the line that begins with it.

    `names` are the earlier ones, in their order. Of `Train-acc: 0.9, loss: 0.3 | Val-acc: 0.8, loss: 0.4` the
    last one is `Val loss`.
    """
    words = name.split(" ")
    if len(words) > _LEAST_QUALIFIED and words[0].lower().rstrip(".") in _QUALIFIERS:
        words = words[1:]  # `Average test loss 0.5 acc 0.8`
    if _data_of_word(words[0]) is not None:
        section = words[0]
    elif name in names and not section and (data := _data_of_last(names)):
        name = f"{data} {name}"
    elif section and not _names_data(name) and (name in names or _continues(section, name, names)):
        name = f"{section} {name}"
    return numbered(name, names), section


def _data_of_word(word: str) -> re.Match[str] | None:
    """The data that a word names, also in a short form or with a word behind it: `Test.`, `test-set`."""
    text = in_english(word).strip()
    return DATA_TAG.fullmatch(text[:-1] if SHORT_DATA.fullmatch(text) is not None else text)


def _names_data(name: str) -> bool:
    """Whether a name states itself of which data it is: `Loss dev`."""
    return DATA_SPLIT.fullmatch(in_english(name.rpartition(" ")[2]).strip()) is not None


def numbered(name: str, names: Collection[str]) -> str:
    """A name that is none of `names`, with a number where it would be."""
    number = 2
    unique = name
    while unique in names:
        unique, number = f"{name} {number}", number + 1
    return unique


def _data_of_last(names: Collection[str]) -> str:
    """The data in the last of some names that begins with any: `Val` of `Val-acc`."""
    for name in reversed([*names]):
        first = re.split(r"[-_]", name, maxsplit=1)[0]
        if first != name and DATA_SPLIT.fullmatch(in_english(first).strip()):
            return first
    return ""


def _continues(section: str, name: str, names: Collection[str]) -> bool:
    """Whether a metric is of the data of those before it, which it does not repeat."""
    is_new = section not in names and f"{section} {name}" not in names
    # `Val Loss: 0.4 | Val_PSNR: 24.5`, it states its data itself
    return is_new and not names_data(name) and _is_evaluated(section, name, names)


def _is_evaluated(section: str, name: str, names: Collection[str]) -> bool:
    """Whether a metric behind those of an evaluation is one of them: `val Loss: 0.4 Acc: 0.8`.

    A name that nobody knows is, where the line has nothing but those of this evaluation.
    """
    found = _data_of_word(section)
    if found is None or not found[2] or _OF_TRAINING.search(name):
        return False
    others = [other.lower() for other in names if other.lower().split()[-1] not in EPOCHS | OTHERS]
    return is_metric_name(name) or all(other.startswith(section.lower()) for other in others)
