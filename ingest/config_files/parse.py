"""Settings that nobody has checked as what can be kept of them: bounded, without what is private.

Mappings out of JSON, YAML and TOML that nobody has checked: nothing is executed, nothing grows.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from holter.attempts.config_values import flatten_settings
from holter.ingest.names import storable_text
from holter.ingest.redaction import without_private
from holter.ingest.trainers.trainer_state import decode_state
from holter.types import ConfigKey, ConfigValue

_MAX_DEPTH, _MOST = 40, 50_000
"""Levels of a document, and how many values it has once every alias is written out."""
_EXPONENT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d{1,3}")
_C_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Plain(_C_LOADER):  # type: ignore[misc]
    """Takes what has a tag of a program's own (`!!python/object`) for the plain values that stand there."""


def _plain(loader: Any, _: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_Plain.add_multi_constructor("", _plain)


def parse_mapping(suffix: str, data: bytes) -> Mapping[Any, Any] | None:
    """What a document of this ending says, None where it is no mapping, or not a whole one yet.

    Raises ValueError where it is larger than a document of settings can be.
    """
    if suffix == ".json":
        return decode_state(data)
    try:
        if suffix == ".toml":
            return tomllib.loads(data.decode())
        _measure(data)
        found = yaml.load(data, Loader=_Plain)  # of a safe loader: plain values alone
    except _TooLarge:
        raise
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError, AttributeError):
        return None
    return _numbers(found) if isinstance(found, dict) else None


class _TooLarge(ValueError):
    pass


def _measure(data: bytes) -> None:
    """Look over a YAML document before anything is made of it. Raises ValueError where it is too large."""
    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []  # anchor of each level, and the size where it began
    size = 0
    for event in yaml.parse(data, Loader=_C_LOADER):
        if isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor, _MOST + 1)  # within itself: it never ends
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, size))
            size += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, begin = opened.pop()
            if anchor is not None:
                sizes[anchor] = size - begin
        elif isinstance(event, yaml.ScalarEvent):
            size += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        if size > _MOST or len(opened) > _MAX_DEPTH:
            raise _TooLarge(f"expected at most {_MOST:,} values, {_MAX_DEPTH} levels deep, aliases written out")


def _numbers(value: Any) -> Any:
    """The document with `1e-4` as the number which it is to everything but YAML 1.1."""
    if isinstance(value, dict):
        return {key: _numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        return float(value)
    return value


MAX_SETTINGS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 2000, 200, 2000
"""Settings of one document, and characters of their names and values."""


def bounded_settings(found: Mapping[Any, Any]) -> tuple[dict[ConfigKey, ConfigValue], int]:
    """What is kept of a mapping, by dotted names, and how many settings it has; those beyond are left out."""
    stated = [one for one in flatten_settings(found).items() if _says(found, one[1])]
    kept, _ = without_private({ConfigKey(name): value for name, value in stated[:MAX_SETTINGS]})
    return {_key(key): _value(value) for key, value in kept.items() if key.name}, len(stated)


def _says(found: Mapping[str, Any], value: ConfigValue) -> bool:
    """Whether a value says anything: nothing does not, nor does DeepSpeed's `auto`."""
    return value not in ("null", "", "{}", "[]") and not (value == "auto" and "zero_optimization" in found)


def _key(key: ConfigKey) -> ConfigKey:
    return ConfigKey(storable_text(key.name)[:MAX_NAME_LENGTH])


def _value(value: ConfigValue) -> ConfigValue:
    if not isinstance(value, str):
        return value
    text = storable_text(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"
