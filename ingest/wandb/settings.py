"""The settings of a run without those that name people, machines, commands and paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holter.attempts.config_values import flatten_settings
from holter.ingest.redaction import without_private
from holter.types import ConfigKey, ConfigValue

_PATH = re.compile(r"^\s*[\[\"']*(?:~?/|[A-Za-z]:\\|file:)")


def public_settings(nested: Mapping[str, Any]) -> dict[ConfigKey, ConfigValue]:
    """Nested settings of a run by dotted names, without paths and without private ones."""
    plain = {
        name: value
        for name, value in flatten_settings(nested).items()
        if not (isinstance(value, str) and _PATH.search(value))
    }
    public, _ = without_private({ConfigKey(name): value for name, value in plain.items()})
    return public
