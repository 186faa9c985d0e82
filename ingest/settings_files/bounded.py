"""Settings that nobody has checked as what can be kept of them: bounded, without what is private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.attempts.values import dotted
from holter.ingest.names import as_text
from holter.ingest.secrets import without_private
from holter.types import ConfigKey, ConfigValue

MOST, LONGEST_NAME, LONGEST = 2000, 200, 2000
"""Settings of one document, and characters of their names and values."""


def kept_of(found: Mapping[Any, Any]) -> tuple[dict[ConfigKey, ConfigValue], int]:
    """What is kept of a mapping, by dotted names, and how many settings it has; those beyond are left out."""
    stated = [one for one in dotted(found).items() if _says(found, one[1])]
    kept, _ = without_private({ConfigKey(name): value for name, value in stated[:MOST]})
    return {_key(key): _value(value) for key, value in kept.items() if key.name}, len(stated)


def _says(found: Mapping[str, Any], value: ConfigValue) -> bool:
    """Whether a value says anything: nothing does not, nor does DeepSpeed's `auto`."""
    return value not in ("null", "", "{}", "[]") and not (value == "auto" and "zero_optimization" in found)


def _key(key: ConfigKey) -> ConfigKey:
    return ConfigKey(as_text(key.name)[:LONGEST_NAME])


def _value(value: ConfigValue) -> ConfigValue:
    if not isinstance(value, str):
        return value
    text = as_text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
