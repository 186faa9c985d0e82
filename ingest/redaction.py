"""Removes keys, passwords and the names of people and machines from the settings that logs contain."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holter.types import Config, ConfigKey, ConfigValue

_NAME = re.compile(
    r"(?i)(?:api|access|secret|private|auth|encryption|wandb|hf|account|signing)_?-?key"
    r"|secret|passw(?:or)?d|passphrase|credential|bearer|(?:^|\.)(?:token|auth|pat)$"
    r"|(?:access|auth|api|hub|hf|bot|push_to_hub|login|session|refresh)_?-?token"
)
_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{10,}"  # not the settings hf_dataset_...
    r"|\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AKIA|ASIA|AIza|ya29\.|npm_|dckr_pat_)[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]*:[^/\s@]+@"
    r"|^wandb_v1_\w{20,}$"
)
_HEXADECIMAL = re.compile(r"[0-9a-f]{40}")
"""A key of W&B, or the version of a git commit or a model hub."""
_VERSION = re.compile(r"(?i)commit|revision|sha|hash|digest|version")
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


def is_secret(name: str, value: ConfigValue) -> bool:
    """Whether a setting looks like a key, a token or a password; numbers and empty values do not."""
    if not isinstance(value, str) or value in ("", "None", "null"):
        return False
    if _NAME.search(name) or _VALUE.search(value):
        return True
    return _HEXADECIMAL.fullmatch(value) is not None and _VERSION.search(name) is None


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
