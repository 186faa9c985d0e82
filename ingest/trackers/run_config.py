"""What trackers keep of a run's set-up, as Holter's config: names and values, in bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from holter.attempts.config_values import to_config_value
from holter.ingest.names import storable_text
from holter.types import ConfigKey, ConfigValue

LONGEST_NAME, LONGEST_VALUE, MOST = 200, 2000, 2000
LEFT_OUT = ConfigKey("import.settings_left_out")
"""How many settings of a run there were beyond `MOST`."""
_NUMBER = re.compile(r"[-+]?(\d+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|inf|nan)", re.IGNORECASE)
_WORDS = {"true": True, "True": True, "false": False, "False": False}


def config_of(settings: Iterable[tuple[str, Any]]) -> dict[ConfigKey, ConfigValue]:
    """Settings as config; absent ones are left out, what is beyond bounds is marked."""
    found: dict[ConfigKey, ConfigValue] = {}
    left_out = 0
    for name, value in settings:
        if value is None or not name:
            continue
        if len(found) >= MOST:
            left_out += 1
            continue
        told = to_config_value(value)
        told = _bounded(told, LONGEST_VALUE) if isinstance(told, str) else told
        found[ConfigKey(_bounded(name, LONGEST_NAME))] = told
    if left_out:
        found[LEFT_OUT] = left_out
    return found


def _bounded(text: str, longest: int) -> str:
    text = storable_text(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_text(text: str) -> ConfigValue:
    """A value that a tracker keeps as text as what it was: a number, yes or no, or else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    return text
