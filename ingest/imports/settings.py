"""What trackers keep of a run's set-up, as Holter's config: names and values, nobody's private matters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holter.ingest.names import as_text
from holter.types import Config, ConfigKey, ConfigValue

LONGEST_NAME, LONGEST_VALUE, MOST = 200, 2000, 2000
LEFT_OUT = ConfigKey("import.settings_left_out")
"""How many settings of a run there were beyond `MOST`."""
_DEEPEST = 8
_NUMBER = re.compile(r"[-+]?(\d+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|inf|nan)", re.IGNORECASE)
_WORDS = {"true": True, "True": True, "false": False, "False": False}
_PRIVATE = re.compile(
    r"(?:^|[./_\-\s])(?:user(?:_?name|_?id)?|owner|author|e?mail|host(?:_?name)?|node_?name|ip(?:_?addr\w*)?"
    r"|argv?s?|cmd(?:_?line)?|command(?:_?line)?|entry_?point|pass(?:word|wd)?|secret\w*|token|api_?token"
    r"|auth_?token|access_?token|hub_?token|credentials?|api_?key|access_?key|secret_?key|repo_?url|remote"
    r"|program|executable|home|cwd|source[./_]name)$",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"(?:^|[./_\-\s])(?:user_?id|pass(?:word|wd)?|secret\w*|credentials?|(?:api|access|secret)_?(?:key|token))$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|://[^/\s:@]+:[^/\s@]+@")


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Nested settings with their keys joined by dots."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from flat(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


def config_of(settings: Iterable[tuple[str, Any]]) -> dict[ConfigKey, ConfigValue]:
    """Settings as config; absent ones are left out, lists are text, what is beyond bounds is marked."""
    found: dict[ConfigKey, ConfigValue] = {}
    left_out = 0
    for name, value in settings:
        if value is None or not name:
            continue
        if len(found) >= MOST:
            left_out += 1
            continue
        told = value if isinstance(value, bool | int | float) else _bounded(str(value), LONGEST_VALUE)
        found[ConfigKey(_bounded(str(name), LONGEST_NAME))] = told
    if left_out:
        found[LEFT_OUT] = left_out
    return found


def _bounded(text: str, longest: int) -> str:
    text = as_text(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_text(text: str) -> ConfigValue:
    """A value that a tracker keeps as text as what it was: a number, yes or no, or else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    return text


def without_private(config: Config) -> tuple[dict[ConfigKey, ConfigValue], list[str]]:
    """The config without what names people, machines, commands or secrets; and the names of that."""
    private = {key for key, value in config.items() if _is_private(key.name, value)}
    kept = {key: value for key, value in config.items() if key not in private}
    return kept, [key.name for key in config if key in private]


def _is_private(name: str, value: ConfigValue) -> bool:
    """A number is only where its name leaves no doubt: `max_token` is no token, `password` may be digits."""
    if isinstance(value, str):
        return bool(_PRIVATE.search(name) or _ADDRESS.search(value))
    return not isinstance(value, bool) and bool(_SECRET.search(name))
