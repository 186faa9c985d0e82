"""What is stated of a launch as values that can be kept: texts, numbers and truths by dotted names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from holter.types import Config, ConfigKey, ConfigValue, labels_of

_DEEPEST = 20


def dotted(nested: Mapping[str, Any]) -> dict[str, ConfigValue]:
    """Settings within settings by dotted names; what is neither text, number nor truth as JSON text."""
    return dict(_flat("", nested))


def _flat(prefix: str, nested: Mapping[Any, Any], depth: int = 0) -> Iterator[tuple[str, ConfigValue]]:
    for name, value in nested.items():
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            yield from _flat(f"{prefix}{name}.", value, depth + 1)
        else:
            yield f"{prefix}{name}", as_value(value)


def as_value(value: Any) -> ConfigValue:
    """A value as it can be kept: a float that is not finite, and what has no word here, as text."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError) as error:
        return f"({type(value).__name__} that is no JSON: {error})"


def to_json(config: Config) -> list[list[Any]]:
    """A config as JSON-able values: name, labels, value of each setting."""
    return [[key.name, [list(label) for label in key.labels], value] for key, value in config.items()]


def from_json(stored: Iterable[Sequence[Any]]) -> dict[ConfigKey, ConfigValue]:
    """What `to_json` wrote."""
    return {ConfigKey(name, labels_of(dict(labels))): value for name, labels, value in stored}
