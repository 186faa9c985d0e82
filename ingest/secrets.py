"""What a log lets slip and Holter must not keep: keys and passwords among settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from holter.types import ConfigValue

_NAME = re.compile(
    r"(?i)(?:api|access|secret|private|auth|encryption|wandb|hf|account|signing)_?-?key"
    r"|secret|passw(?:or)?d|passphrase|credential|bearer|(?:^|\.)(?:token|auth|pat)$"
    r"|(?:access|auth|api|hub|hf|bot|push_to_hub|login|session|refresh)_?-?token"
)
_VALUE = re.compile(
    r"\b(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abpr]-|AKIA|ASIA|AIza|ya29\.|npm_|dckr_pat_)[\w-]{10,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:@]*:[^/\s@]+@"
    r"|^(?:[0-9a-f]{40}|wandb_v1_\w{20,})$"  # a key of W&B
)


def without_secrets(settings: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
    """The settings but for those that hold a secret, going by their names and by what they look like."""
    return {name: value for name, value in settings.items() if not is_secret(name, value)}


def is_secret(name: str, value: ConfigValue) -> bool:
    """Whether a setting looks like a key, a token or a password; numbers, truths and nothing are none."""
    if not isinstance(value, str) or value in ("", "None", "null"):
        return False
    return _NAME.search(name) is not None or _VALUE.search(value) is not None
