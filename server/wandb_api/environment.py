"""The environment of a launch from the files that wandb's client uploads: packages, commit, GPUs and others.

Nothing else of these files is read: they have paths, e-mail addresses, arguments and names of people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holter.client.environment import split_packages
from holter.client.git_state import changed_files_settings
from holter.environment_names import PREFIX
from holter.secret_patterns import is_secret
from holter.server.context import ServerContext
from holter.server.store.keys import storable_text
from holter.server.tracked_runs import RUN_LOCKS, TrackedRun, empty_delivery
from holter.server.wandb_api.patch_names import PatchNames
from holter.server.wandb_api.run_state import TRACKER, read_state
from holter.types import Config, ConfigKey

METADATA, PACKAGES, PATCH = "wandb-metadata.json", "requirements.txt", "diff.patch"
MAX_BYTES = 2**20
_MAX_TEXT = 200
_NAMES = {
    "python": "python",
    "os": "system",
    "host": "host",
    "cudaVersion": "cuda",
    "cpu_count_logical": "cpus",
}
"""Settings of the environment by the names that the client states."""


def store_environment(context: ServerContext, run: TrackedRun, name: str, content: bytes) -> None:
    """Store what a file states of the launch that runs."""
    _store(context, run, _packages(content) if name == PACKAGES else _metadata(content))


def store_changed_files(context: ServerContext, run: TrackedRun, patch: PatchNames) -> None:
    """Store the names of the files that the launch that runs has changed since its commit."""
    names = [storable_text(name)[:_MAX_TEXT] for name in patch.names]
    _store(context, run, changed_files_settings(names, patch.count))


def _store(context: ServerContext, run: TrackedRun, values: Mapping[str, Any]) -> None:
    """Store settings of the launch that runs; one that has ended has stated them before."""
    config: Config = {
        ConfigKey(PREFIX + setting): value
        for setting, value in values.items()
        if setting == "git_commit" or not is_secret(setting, value)
    }
    with RUN_LOCKS.locked(run.project, run.name):
        state, _ = read_state(context, run)
        launch = state.launches[-1] if state.launches else None
        if config and not (launch is not None and launch.complete):
            attempt = 0 if launch is None else launch.attempt
            context.store.accept(
                empty_delivery(TRACKER, run.project, run.name, attempt=attempt, config=config)
            )


def _packages(content: bytes) -> dict[str, str]:
    """The packages of lines such as `numpy==2.0`; those from addresses and paths are left out."""
    versions = {}
    for line in content.decode(errors="replace").splitlines():
        package, equals, version = line.strip().partition("==")
        if equals and package.replace("-", "").replace("_", "").replace(".", "").isalnum():
            versions[package.replace("_", "-").lower()] = storable_text(version)
    return split_packages(versions)


def _metadata(content: bytes) -> dict[str, Any]:
    """Python, system, host, devices and commit; empty for what is no object."""
    try:
        stated = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(stated, dict):
        return {}
    found = {setting: _plain(stated.get(name)) for name, setting in _NAMES.items()}
    found["gpus"] = _gpus(stated)
    git = stated.get("git")
    found["git_commit"] = _plain(git.get("commit")) if isinstance(git, Mapping) else None
    return {name: value for name, value in found.items() if value is not None}


def _gpus(stated: Mapping[str, Any]) -> str | None:
    count, name = stated.get("gpu_count"), _plain(stated.get("gpu"))
    return f"{count} x {name}" if isinstance(count, int) and isinstance(name, str) else None


def _plain(value: object) -> str | int | None:
    if isinstance(value, str):
        return storable_text(value)[:_MAX_TEXT] or None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
