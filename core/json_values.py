"""Values in strict JSON: NaN and infinities as the strings that ingest accepts for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

NonfiniteText = Literal["NaN", "Infinity", "-Infinity"]

MAX_JSON_INTEGER = 2**53 - 1
"""The largest integer of a JSON document that programs with floats of 64 bits do not round."""


@overload
def number(value: float) -> float | NonfiniteText: ...
@overload
def number(value: None) -> None: ...
def number(value: float | None) -> float | NonfiniteText | None:
    """The value of a metric, as a text if it is not finite; None: no value."""
    if value is None or math.isfinite(value):
        return value
    return nonfinite_text(value)


def nonfinite_text(value: float) -> NonfiniteText:
    """The text for a value that is not finite."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def time_or_none(value: float | None) -> float | None:
    """Unix seconds; None without a clock."""
    return value if value is not None and math.isfinite(value) else None


def plain(value: Any) -> Any:
    """The value in types of strict JSON: arrays and sets as lists, keys as strings."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return number(value) if isinstance(value, float) else value
