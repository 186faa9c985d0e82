"""Parses untrusted JSON, YAML and TOML into settings: bounded, without private values.

Nothing in a document is executed, and the size of a parsed document is bounded.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from holter.attempts.config_values import flatten_settings
from holter.ingest.names import storable_name, storable_text
from holter.ingest.redaction import without_private
from holter.ingest.trainers.trainer_state import decode_state
from holter.types import ConfigKey, ConfigValue

MAX_SETTINGS, MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 2000, 200, 2000
"""Bounds of one document: number of settings, and characters of their names and values."""
_MAX_DEPTH, _MAX_VALUES = 40, 50_000
"""Bounds of a YAML document: levels, and values once every alias is written out."""
_EXPONENT = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)[eE][-+]?\d{1,3}")
YAML_ERRORS = (
    yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError, AttributeError, LookupError,
)  # fmt: skip
"""What reading a damaged YAML document may raise."""
_C_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainLoader(_C_LOADER):  # type: ignore[misc]
    """Reads a node with a program's own tag (`!!python/object`) as the plain values that it has."""


def _construct_plain(loader: Any, _: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


_PlainLoader.add_multi_constructor("", _construct_plain)


class _YamlTooLargeError(ValueError):
    """A YAML document exceeds the bounds."""


def parse_mapping(suffix: str, data: bytes) -> Mapping[Any, Any] | None:
    """The mapping of a document with this file suffix; None if it is incomplete or no mapping.

    Raises ValueError if a YAML document exceeds the bounds.
    """
    if suffix == ".json":
        return decode_state(data)
    try:
        if suffix == ".toml":
            return tomllib.loads(data.decode())
        document = parse_yaml(data)
    except _YamlTooLargeError:
        raise
    except YAML_ERRORS:
        return None
    return _with_numbers(document) if isinstance(document, dict) else None


def parse_yaml(data: bytes) -> Any:
    """The plain values of a YAML document.

    Raises ValueError if it exceeds the bounds; for other damage what PyYAML raises: YAMLError, and the errors
    of Python's own types (`YAML_ERRORS`).
    """
    _check_size(data)
    return yaml.load(data, Loader=_PlainLoader)  # a safe loader: plain values only


def _check_size(data: bytes) -> None:
    """Check a YAML document before values are built from it. Raises ValueError if it exceeds the bounds."""
    sizes: dict[str, int] = {}
    open_levels: list[tuple[str | None, int]] = []  # anchor of each level, and the size where it began
    size = 0
    for event in yaml.parse(data, Loader=_C_LOADER):
        if isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor, _MAX_VALUES + 1)  # an alias within its own anchor: without end
        elif isinstance(event, yaml.CollectionStartEvent):
            open_levels.append((event.anchor, size))
            size += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, begin = open_levels.pop()
            if anchor is not None:
                sizes[anchor] = size - begin
        elif isinstance(event, yaml.ScalarEvent):
            size += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        if size > _MAX_VALUES or len(open_levels) > _MAX_DEPTH:
            raise _YamlTooLargeError(
                f"expected at most {_MAX_VALUES:,} values, {_MAX_DEPTH} levels deep, aliases written out"
            )


def _with_numbers(value: Any) -> Any:
    """The document with text such as `1e-4` as a number, which it is in all notations but YAML 1.1."""
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        return float(value)
    return value


def bounded_settings(mapping: Mapping[Any, Any]) -> tuple[dict[ConfigKey, ConfigValue], int]:
    """The settings of a mapping by dotted names, bounded and without private ones; and their number.

    The number includes settings beyond `MAX_SETTINGS`, which are left out.
    """
    settings = [item for item in flatten_settings(mapping).items() if _is_set(mapping, item[1])]
    public, _ = without_private({ConfigKey(name): value for name, value in settings[:MAX_SETTINGS]})
    bounded = {_bounded_key(key): _bounded_value(value) for key, value in public.items() if key.name}
    return bounded, len(settings)


def _is_set(mapping: Mapping[str, Any], value: ConfigValue) -> bool:
    """Whether a setting has a value: not an empty one, nor DeepSpeed's `auto`."""
    return value not in ("null", "", "{}", "[]") and not (value == "auto" and "zero_optimization" in mapping)


def _bounded_key(key: ConfigKey) -> ConfigKey:
    return ConfigKey(storable_name(key.name)[:MAX_NAME_LENGTH])


def _bounded_value(value: ConfigValue) -> ConfigValue:
    if not isinstance(value, str):
        return value
    text = storable_text(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"
