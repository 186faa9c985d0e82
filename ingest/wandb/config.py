"""What wandb's records say of a run's settings, without what is private."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from holter.attempts.values import dotted
from holter.ingest.secrets import without_private
from holter.types import ConfigKey, ConfigValue

_PATH = re.compile(r"^\s*[\[\"']*(?:~?/|[A-Za-z]:\\|file:)")
_OWN = "_wandb"


def settings_of(record: Any) -> dict[ConfigKey, ConfigValue]:
    """The settings in a record: of a run as it begins, and as they are added.

    Left out: what names people, machines and commands, paths, and what looks like a key or a password.
    """
    items = [*record.run.config.update, *record.config.update]
    if not items:
        return {}
    plain = {
        name: value
        for name, value in dotted(dict(_values(items))).items()
        if not (isinstance(value, str) and _PATH.search(value))
    }
    kept, _ = without_private({ConfigKey(name): value for name, value in plain.items()})
    return kept


def _values(items: Any) -> Iterator[tuple[str, Any]]:
    for item in items:
        name = ".".join(item.nested_key) or item.key
        try:
            value = json.loads(item.value_json)
        except (ValueError, RecursionError):
            continue
        if name.partition(".")[0] != _OWN:
            yield name, value
