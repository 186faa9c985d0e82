"""The configuration of a run as the client states it: kept without secrets, and stored with each launch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from holter.ingest.wandb.settings import public_settings
from holter.ingest.wandb.step_metrics import defined_step
from holter.secret_patterns import is_secret
from holter.server.store.keys import storable_text
from holter.types import Config

OWN = "_wandb"
MAX_CONFIG_BYTES = 2**20
_DEFINITIONS, _TELEMETRY = "m", "t"
_MAX_DEPTH = 30


def parse_config(text: str | None) -> dict[str, Any]:
    """The values of a configuration by name, from `{"name": {"value": ...}}`; empty for anything else."""
    try:
        stated = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(stated, dict):
        return {}
    return {
        name: entry["value"] for name, entry in stated.items() if isinstance(entry, dict) and "value" in entry
    }


def stored_config(values: Mapping[str, Any]) -> str | None:
    """The configuration as it is stored: without secrets, machines and people; None where it is too large.

    Of the client's own part, the definitions of step metrics remain.
    """
    own = values.get(OWN)
    definitions = own.get(_DEFINITIONS, []) if isinstance(own, dict) else []
    kept = {name: value for name, value in values.items() if name != OWN}
    public = _without_secrets(kept, "", 0) | {OWN: {_DEFINITIONS: definitions, _TELEMETRY: {}}}
    text = storable_text(json.dumps(public, ensure_ascii=False, separators=(",", ":"), default=str))
    return text if len(text) <= MAX_CONFIG_BYTES else None


def read_config(text: str | None) -> dict[str, Any]:
    """The values that `stored_config` wrote."""
    stored = json.loads(text) if text else {}
    return stored if isinstance(stored, dict) else {}


def launch_config(values: Mapping[str, Any]) -> Config:
    """The settings of a launch, flattened."""
    return public_settings({name: value for name, value in values.items() if name != OWN})


def training_step_of(values: Mapping[str, Any]) -> str | None:
    """The metric that a configuration defines as the training step."""
    own = values.get(OWN)
    return defined_step(own.get(_DEFINITIONS)) if isinstance(own, dict) else None


def branch_point(values: Mapping[str, Any]) -> tuple[str, int] | None:
    """The run and the step that a run was forked from or rewound to."""
    own = values.get(OWN)
    point = own.get("branch_point") if isinstance(own, dict) else None
    if not isinstance(point, dict):
        return None
    run, step = point.get("run_id"), point.get("step")
    if not isinstance(run, str) or isinstance(step, bool) or not isinstance(step, int | float):
        return None
    return run, int(step)


def digest(text: str) -> str:
    """Recognises a configuration that was stored with a launch already."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _without_secrets(values: Mapping[str, Any], prefix: str, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            result[name] = _without_secrets(value, f"{prefix}{name}.", depth + 1)
        elif not (isinstance(value, str) and is_secret(prefix + str(name), value)):
            result[name] = value
    return result
