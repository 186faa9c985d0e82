"""Losses by their parts in a dictionary: `Losses {'ner': 172.9, 'tagger': 3.5}` of spaCy: a loss of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from holter.ingest.console.line.number_field import NumberField
from holter.ingest.metric_names import is_metric_name

_BEGIN = re.compile(r"(?i)(?:^|[\s:,|-])losses ?[:=]? ?\{ ?['\"][A-Za-z][\w-]{0,30}['\"]: ?$")


def begin_of_losses(texts: tuple[str, ...]) -> int:
    """The index of the first number in a dictionary of losses, -1 without one."""
    found = (
        index for index, text in enumerate(texts[:-1]) if "{" in text and _BEGIN.search(text) is not None
    )
    return next(found, -1)


def with_losses(fields: Iterable[NumberField], texts: tuple[str, ...], begin: int) -> Iterator[NumberField]:
    """The numbers of such a line, those of unknown names in the dictionary named as losses: `ner loss`."""
    end = next((index for index in range(begin + 1, len(texts)) if "}" in texts[index]), len(texts))
    for field in fields:
        is_part = begin <= field.index < end and bool(field.name) and not is_metric_name(field.name)
        yield replace(field, name=f"{field.name} loss") if is_part else field
