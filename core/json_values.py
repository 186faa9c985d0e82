"""Values as strict JSON has them: NaN and infinities as the strings that ingest takes for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def number(value: float | None) -> float | str | None:
    """A value of a metric; None: none."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def time_or_none(value: float | None) -> float | None:
    """Unix seconds, None where a log has no clock."""
    return value if value is not None and math.isfinite(value) else None


def plain(value: Any) -> Any:
    """The value with nothing in it that strict JSON lacks: arrays and sets as lists, keys as texts."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return number(value) if isinstance(value, float) else value
