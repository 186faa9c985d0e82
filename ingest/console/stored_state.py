"""What a reader of lines stores between two readings: JSON-able values, which any database can store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holter.ingest.step_columns import LARGEST_STEP
from holter.types import Labels


def labels_from_json(stored: Sequence[Sequence[str]] | None) -> Labels | None:
    """Labels from what JSON makes of them."""
    return None if stored is None else tuple((name, value) for name, value in stored)


def storable(value: Any) -> Any:
    """A state without the numbers that no database stores as a number, which only mangled lines give."""
    if isinstance(value, dict):
        return {name: storable(item) for name, item in value.items() if _is_storable(item)}
    return [storable(item) for item in value] if isinstance(value, list | tuple) else value


def _is_storable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_storable, value))
    return not isinstance(value, int) or abs(value) <= LARGEST_STEP
