"""From what a training loop logs to names and 64-bit floats."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

MAX_STEP = 2**53  # beyond it JSON readers lose integers, and no training gets there
MAX_NAME = 500
MAX_DEPTH = 10


def to_float(value: object) -> float | None:
    """A number of any kind (bool, numpy or torch scalar, ...), None for what is no number.

    Text is never parsed: `array` asks for `__float__`, which strings do not have.
    """
    try:
        return array("d", cast(tuple[float], (value,)))[0]
    except Exception:  # whatever a foreign __float__ raises
        return None


def flatten(metrics: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of nested mappings; the levels of a name are joined by "/"."""
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def are_names(names: Sequence[object]) -> bool:
    """Whether all of these can name metrics: thousands are looked at as one text."""
    if set(map(type, names)) - {str}:
        return False
    texts = cast(Sequence[str], names)
    return all(texts) and max(map(len, texts), default=0) <= MAX_NAME and "".join(texts).isprintable()


def to_step(step: object) -> int | None:
    """A step as an integer from 0 to 2**53, None for anything else."""
    number = to_float(step)
    if number is None or not 0 <= number <= MAX_STEP or number != int(number):
        return None
    return int(number)


def clean(text: object, limit: int) -> str:
    """A name as the server takes it: printable, not too long; empty for None."""
    shown = "" if text is None else str(text)
    return "".join(letter if letter.isprintable() else "_" for letter in shown)[:limit]


def plain(value: object, depth: int = 0) -> Any:
    """A configuration as JSON can hold it: what has no word there becomes text."""
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {str(name): plain(below, depth + 1) for name, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth < MAX_DEPTH:
        return [plain(below, depth + 1) for below in value]
    if value is None or isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) <= MAX_STEP):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)
