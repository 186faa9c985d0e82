"""Removes keys, passwords and the names of people and machines from the settings that logs contain."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holter.secret_patterns import is_secret
from holter.types import Config, ConfigKey, ConfigValue

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
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+\.[\w-]|://[^/\s:@]++:[^/\s@]++@")


def without_secrets(settings: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
    """The settings without those that are secrets, judged by their names and their form."""
    return {name: value for name, value in settings.items() if not is_secret(name, value)}


def without_private(config: Config) -> tuple[dict[ConfigKey, ConfigValue], list[str]]:
    """The config without settings that name people, machines, commands or secrets; and the names of those."""
    private = {key for key, value in config.items() if _is_private(key.name, value)}
    public = {key: value for key, value in config.items() if key not in private}
    return public, [key.name for key in config if key in private]


def _is_private(name: str, value: ConfigValue) -> bool:
    """A number is private only if its name is clear: `max_token` is no token, `password` may be digits."""
    if isinstance(value, str):
        return is_secret(name, value) or bool(_PRIVATE.search(name) or _ADDRESS.search(value))
    return not isinstance(value, bool) and bool(_SECRET.search(name))
