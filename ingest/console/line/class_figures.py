"""The figures of a class: `P: 0.8, R: 0.9, F1: 0.85  1234`, of which the last is how many there are of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holter.ingest.console.line.number_names import name_before

_NAMES = (
    re.compile(r"(?i)(?<![a-z\d])p(?:rec(?:ision)?)?$"),
    re.compile(r"(?i)(?<![a-z\d])r(?:ec(?:all)?)?$"),
    re.compile(r"(?i)(?<![a-z\d])f(?:b?1)?(?:[ _-]?(?:score|measure))?$"),
)
"""How the names of precision, recall and F-score end; all programs print them in this order."""


def begin_with_figures(names: Sequence[str]) -> bool:
    """Whether names begin with those of precision, recall and F-score, whatever is before each."""
    is_long = len(names) >= len(_NAMES)
    return is_long and all(pattern.search(name) for pattern, name in zip(_NAMES, names, strict=False))


def is_before_support(texts: tuple[str, ...], index: int) -> bool:
    """Whether a number is the F-score of a class: one behind it is how many there are of it."""
    first = index + 1 - len(_NAMES)
    return first >= 0 and begin_with_figures([name_before(text).name for text in texts[first : index + 1]])
