"""Converts a launch's settings to storable values: strings, numbers and booleans by dotted names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from holter.types import Config, ConfigKey, ConfigValue, labels_of

_MAX_DEPTH = 20


def flatten_settings(nested: Mapping[str, Any]) -> dict[str, ConfigValue]:
    """Nested settings by dotted names; values other than strings, numbers and booleans as JSON text."""
    return dict(_flatten("", nested))


def _flatten(prefix: str, nested: Mapping[Any, Any], depth: int = 0) -> Iterator[tuple[str, ConfigValue]]:
    for name, value in nested.items():
        if isinstance(value, Mapping) and value and depth < _MAX_DEPTH:
            yield from _flatten(f"{prefix}{name}.", value, depth + 1)
        else:
            yield f"{prefix}{name}", to_config_value(value)


def to_config_value(value: Any) -> ConfigValue:
    """A value that can be stored: non-finite floats, huge integers and other types become strings."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError) as error:
        return f"({type(value).__name__} that is not JSON: {error})"


def config_to_json(config: Config) -> list[list[Any]]:
    """A config as JSON-able values: name, labels and value of each setting."""
    return [[key.name, [list(label) for label in key.labels], value] for key, value in config.items()]


def config_from_json(stored: Iterable[Sequence[Any]]) -> dict[ConfigKey, ConfigValue]:
    """The config from the values that `config_to_json` returned."""
    return {ConfigKey(name, labels_of(dict(labels))): value for name, labels, value in stored}
