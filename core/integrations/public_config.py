"""The configuration that a plug-in passes on: without secrets, and without what is no setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holter.secret_patterns import is_secret

_MAX_DEPTH = 8


def public_config(config: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """The settings that are neither secret nor empty; other objects become text of limited length."""
    public: dict[str, Any] = {}
    for name, value in config.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth < _MAX_DEPTH:
            if value:
                public[str(name)] = public_config(value, f"{full}.", depth + 1)
        elif value not in (None, "", "None") and not is_secret(full, value):
            public[str(name)] = _plain(value)
    return public


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, bool | int | float | str) for each in value):
        return list(value)[:100]
    return str(value)[:500]
