"""Converts logged values to metric names and 64-bit floats."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

MAX_STEP = 2**53  # JSON readers lose precision of larger integers
MAX_NAME = 500
MAX_DEPTH = 10


def to_float(value: object) -> float | None:
    """Convert a number of any kind (bool, numpy or torch scalar, ...); None for other values.

    Text is not parsed: `array` calls `__float__`, which strings do not have.
    """
    try:
        return array("d", cast(tuple[float], (value,)))[0]
    except Exception:  # whatever a foreign __float__ raises
        return None


def flatten(metrics: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values of nested mappings; levels are joined by "/"."""
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def valid_names(names: Sequence[object]) -> bool:
    """Return whether all names are valid metric names; they are checked as one joined text for speed."""
    if set(map(type, names)) - {str}:
        return False
    texts = cast(Sequence[str], names)
    return all(texts) and max(map(len, texts), default=0) <= MAX_NAME and "".join(texts).isprintable()


def to_step(step: object) -> int | None:
    """Convert a step to an integer from 0 to 2**53; None for anything else."""
    number = to_float(step)
    if number is None or not 0 <= number <= MAX_STEP or number != int(number):
        return None
    return int(number)


def clean_name(text: object, limit: int) -> str:
    """Return a name the server accepts: printable and truncated to `limit`; empty for None."""
    shown = "" if text is None else str(text)
    return "".join(letter if letter.isprintable() else "_" for letter in shown)[:limit]


def to_json_value(value: object, depth: int = 0) -> Any:
    """Convert a configuration to JSON values; values of other types become text."""
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {str(name): to_json_value(below, depth + 1) for name, below in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth < MAX_DEPTH:
        return [to_json_value(below, depth + 1) for below in value]
    if value is None or isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) <= MAX_STEP):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value)
