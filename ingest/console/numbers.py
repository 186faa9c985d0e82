"""Numbers as people print them: with commas, per cent signs, K and M, quotes, nan."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SCALE = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SHAPE = re.compile(r"([-+]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s?([KkMGBTPE]?)(?:%|FLOPS|B)?")


def number(text: str) -> float | None:
    """The number that a text is, None where it is none. Suffixes are decimal: 67.4M is 67,400,000."""
    try:
        return None if "_" in text else float(text)  # Python reads 1_000, no logger writes it
    except ValueError:
        found = _SHAPE.fullmatch(text.strip().strip("'\""))
    if found is None:
        return None
    return float(found[1].replace(",", "")) * _SCALE.get(found[2], 1.0)


def numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Of names and texts, those whose text is a number."""
    return {name: value for name, text in pairs if (value := number(text)) is not None}
