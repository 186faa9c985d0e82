"""Names the values of lists in records that a document of JSON names elsewhere, as CatBoost's does.

`{"meta": {"learn_metrics": [{"name": "Logloss"}]}, "iterations": [{"learn": [0.5]}]}` is `learn/Logloss`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_OF_NAMES = "_metrics"
_MOST_NESTED = 4


def with_names(document: Any) -> Any:
    """The document, with objects for the lists of as many numbers as it states names for their key."""
    if not isinstance(document, dict):
        return document
    names = dict(_stated(document))
    return _named(document, names) if names else document


def _stated(value: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    """The names of the values under each key: `{"learn_metrics": ["loss"]}` states those of `learn`."""
    for key, inner in value.items():
        if isinstance(inner, dict) and depth < _MOST_NESTED:
            yield from _stated(inner, depth + 1)
        elif isinstance(inner, list) and len(stem := key.removesuffix(_OF_NAMES)) < len(key):
            names = [item.get("name") if isinstance(item, dict) else item for item in inner]
            if names and all(isinstance(name, str) for name in names) and len({*names}) == len(names):
                yield stem, [*map(str, names)]


def _named(value: Any, names: Mapping[str, list[str]], key: str = "", depth: int = 0) -> Any:
    if isinstance(value, dict) and depth <= _MOST_NESTED:
        return {name: _named(inner, names, name, depth + 1) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    known = names.get(key)
    if known and len(known) == len(value) and all(isinstance(item, int | float) for item in value):
        return dict(zip(known, value, strict=True))
    return [_named(item, names, "", depth + 1) if isinstance(item, dict) else item for item in value]
